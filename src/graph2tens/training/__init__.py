"""Training as a room of the library: what a run is, the loop, checkpoints, finished runs on disk, export and prediction."""
