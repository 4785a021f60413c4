"""Generation of question sets from documents, with filters and a review by people."""
