"""The artifact store on Chroma: embedded in this process, or a server for several processes."""
