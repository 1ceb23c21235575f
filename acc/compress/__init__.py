"""C_theta: the compressor's protocol, prompt and judge."""
