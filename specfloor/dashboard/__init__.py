"""What Prometheus and Grafana need to watch acceptance for good."""
