"""git in a repository that may hold anything, and files as a revision has them."""
