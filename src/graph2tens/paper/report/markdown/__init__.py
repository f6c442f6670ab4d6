"""The report as Markdown: tables, the sections made of them, and the pages that hold sections."""
