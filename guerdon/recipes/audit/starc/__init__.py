"""STARC's distance between rewards, held against EPIC's and DARD's by how well each tells regret."""
