"""Reads metrics with the official Prometheus client and prints its samples as JSON.

Usage: metrics.py URL

Asks as Prometheus does, and lets the client's own parser for the answered format read the text: the strict one for
OpenMetrics. Whatever the parser refuses ends the program with an error.
"""

import json
import sys
import urllib.request

from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.parser import text_string_to_metric_families


def main() -> None:
    request = urllib.request.Request(sys.argv[1], headers={"Accept": CONTENT_TYPE_LATEST})
    with urllib.request.urlopen(request, timeout=60) as answer:
        content_type = answer.headers["Content-Type"]
        text = answer.read().decode()
    if not content_type.startswith("application/openmetrics-text"):
        sys.exit(f"not OpenMetrics: {content_type}")
    samples = [
        {"family": family.name, "type": family.type, "name": sample.name, "labels": sample.labels, "value": sample.value}
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    json.dump(samples, sys.stdout)


main()
