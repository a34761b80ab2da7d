"""Tables in files, as people have them: CSV, Parquet and Arrow, read by column and written whole or not at all."""
