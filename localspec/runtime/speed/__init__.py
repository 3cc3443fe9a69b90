"""The expected speed of models on this machine, from a measured second and from every reply since."""
