"""State: the jobs, nodes and topology domains of one cycle, as plugins read them and statements change them."""
