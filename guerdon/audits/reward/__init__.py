"""A reward, audited: what it is asked, what comes out, and what there is to mend."""
