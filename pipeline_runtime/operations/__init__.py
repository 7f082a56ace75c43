"""What whoever is on duty needs: what each error means, who acts, and what to do.

`docs/operations.md` is made of it, and a notice to an owner takes its remedy from it.
"""
