"""Page worlds: sites of elements that are clicked, typed into and checked exactly, without a browser."""
