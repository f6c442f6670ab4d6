"""Many small graphs: Parquet files of graphs in, Parquet files of features out, on as many processes or machines as there are."""
