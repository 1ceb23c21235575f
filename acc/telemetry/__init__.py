"""What a step did, for the log and for OpenTelemetry: `acc.telemetry.otel.OpenTelemetry`."""
