"""Metrics: metrics of admission."""

from prometheus_client import Counter, Gauge, Histogram

__all__ = ["CERTIFICATE_EXPIRY", "REVIEWS", "REVIEW_SECONDS"]

REVIEWS = Counter(
    "pyroclast_admission_reviews_total",
    "Admission reviews by path and result: `allowed`, `refused`, `malformed`, `failed`, `forbidden`.",
    ["path", "answer"],
)
REVIEW_SECONDS = Histogram(
    "pyroclast_admission_review_seconds",
    "Seconds from reading a request to its response.",
    ["path"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
CERTIFICATE_EXPIRY = Gauge(
    "pyroclast_admission_certificate_expiry_seconds",
    "Expiration time of the server certificate of admission, in seconds since 1970.",
)
