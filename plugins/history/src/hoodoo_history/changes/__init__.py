"""Change reads: what each commit did to each row, with its images before and after."""
