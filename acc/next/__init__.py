"""The third design's core: state, tail, commit, judge, compressors, `update_state`. Pure; it needs no store."""
