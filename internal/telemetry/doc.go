// Package telemetry exports what the engine traces and counts as OpenTelemetry, under BullMQ's names of spans, attributes
// and instruments, so that a fleet of Node and Bullpen workers shows as one (features 4.4, 7.1).
//
// It is on when OTEL_EXPORTER_OTLP_ENDPOINT, or the endpoint of one signal, is set, and speaks OTLP over HTTP. The
// environment variables of OpenTelemetry's SDK hold: headers, timeouts, samplers, resource attributes, service name
// (default "bullpen"), and OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER=none, OTEL_METRICS_EXPORTER=none to turn parts off.
//
// Trace contexts travel with jobs as a JSON object of W3C headers, as BullMQ's own OpenTelemetry adapter writes them.
// Results and data of jobs are not exported.
package telemetry
