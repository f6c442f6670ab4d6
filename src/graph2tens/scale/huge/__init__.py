"""One huge graph: its walk on disk, features of all its nodes a block of functionals at a time, batches to train on."""
