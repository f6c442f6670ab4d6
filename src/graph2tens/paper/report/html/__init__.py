"""The report as one HTML file that works offline: `page` puts it together out of sections, tables and pictures."""
