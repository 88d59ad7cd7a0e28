"""Simulations of the judge: how often it errs, and how many requests it takes."""
