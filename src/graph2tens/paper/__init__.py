"""What exists because of the paper: its tables as data, the published numbers, `reproduce`, and the report."""
