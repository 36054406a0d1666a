"""Labels that people give: right, wrong, hack, a note, the better of two; kept beside the run."""
