package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"bullpen/internal/engine"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope names this instrumentation in what is exported.
const scope = "bullpen"

// Options configure New.
type Options struct {
	// Version of this program, exported as service.version; default none.
	Version string
	// Logger is told of exports that fail; default none.
	Logger *slog.Logger
	// Getenv reads the environment; default os.Getenv. The SDK reads the process's own.
	Getenv func(string) string
}

// Telemetry exports until Shutdown.
type Telemetry struct {
	traces      *sdktrace.TracerProvider // nil = no traces
	metrics     *sdkmetric.MeterProvider // nil = no metrics
	tracer      trace.Tracer
	propagator  propagation.TextMapPropagator
	instruments *instruments // nil = no metrics
}

// Enabled reports whether the environment asks for an export.
func Enabled(getenv func(string) string) bool {
	return wants(getenv, "TRACES") || wants(getenv, "METRICS")
}

// wants reports whether the environment asks for the export of one signal.
func wants(getenv func(string) string, signal string) bool {
	endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	off := strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_"+signal+"_EXPORTER") == "none"
	return endpoint && !off
}

// New starts to export as the environment says. It does not wait for a connection; what cannot be sent is dropped after
// a while and logged.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	about, err := describe(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	log := o.Logger.With("component", "telemetry")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("export failed", "err", err) }))
	t := &Telemetry{propagator: propagation.TraceContext{}, tracer: noTracer()}
	if wants(o.Getenv, "TRACES") {
		err = t.startTraces(ctx, about)
	}
	if err == nil && wants(o.Getenv, "METRICS") {
		err = t.startMetrics(ctx, about)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("telemetry: %w", err), t.Shutdown(ctx))
	}
	return t, nil
}

// describe says who exports. The environment goes before what we know.
func describe(ctx context.Context, o Options) (*resource.Resource, error) {
	own := []attribute.KeyValue{attribute.String("service.name", "bullpen")}
	if o.Version != "" {
		own = append(own, attribute.String("service.version", o.Version))
	}
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(),
		resource.WithAttributes(own...), resource.WithFromEnv())
}

func (t *Telemetry) startTraces(ctx context.Context, about *resource.Resource) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	t.tracer = t.traces.Tracer(scope)
	return nil
}

func (t *Telemetry) startMetrics(ctx context.Context, about *resource.Resource) error {
	exporter, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return err
	}
	t.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)), sdkmetric.WithResource(about))
	t.instruments, err = newInstruments(t.metrics.Meter(scope))
	return err
}

// Shutdown exports what is left, as far as ctx allows, and ends the export.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	if t.traces != nil {
		errs = append(errs, t.traces.Shutdown(ctx))
	}
	if t.metrics != nil {
		errs = append(errs, t.metrics.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end telemetry: %w", err)
	}
	return nil
}

// Start begins a span; see engine.Telemetry.
func (t *Telemetry) Start(ctx context.Context, kind engine.SpanKind, name string, attributes ...slog.Attr) (context.Context, engine.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = t.Extract(ctx, engine.TraceContext(ctx)) // what somebody sent along
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kinds[kind]), trace.WithAttributes(convert(attributes)...))
	return ctx, span{s}
}

var kinds = map[engine.SpanKind]trace.SpanKind{
	engine.SpanInternal: trace.SpanKindInternal,
	engine.SpanProducer: trace.SpanKindProducer,
	engine.SpanConsumer: trace.SpanKindConsumer,
}

// Inject writes the span of ctx as a JSON object of W3C headers. Without one it passes on what the context carries.
func (t *Telemetry) Inject(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	t.propagator.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return engine.TraceContext(ctx)
	}
	text, _ := json.Marshal(carrier) // texts always encode
	return string(text)
}

// Extract reads what Inject, or BullMQ's adapter, wrote.
func (t *Telemetry) Extract(ctx context.Context, metadata string) context.Context {
	var carrier map[string]string
	if json.Unmarshal([]byte(metadata), &carrier) != nil {
		return ctx
	}
	return t.propagator.Extract(engine.WithTraceContext(ctx, metadata), propagation.MapCarrier(carrier))
}

// Count counts a job that came into a state, and its time; see engine.Telemetry.
func (t *Telemetry) Count(queue, job, state string, run time.Duration) {
	if t.instruments == nil {
		return
	}
	t.instruments.record(queue, job, state, run)
}

// span is a span of the SDK as the engine sees it.
type span struct{ trace.Span }

func (s span) SetAttributes(attributes ...slog.Attr) { s.Span.SetAttributes(convert(attributes)...) }

func (s span) AddEvent(name string, attributes ...slog.Attr) {
	s.Span.AddEvent(name, trace.WithAttributes(convert(attributes)...))
}

func (s span) End(err error) {
	if err != nil {
		s.RecordError(err)
		s.SetStatus(codes.Error, err.Error())
	}
	s.Span.End()
}

// convert gives attributes to the SDK.
func convert(attributes []slog.Attr) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(attributes))
	for _, a := range attributes {
		key := attribute.Key(a.Key)
		switch a.Value.Kind() {
		case slog.KindInt64:
			out = append(out, key.Int64(a.Value.Int64()))
		case slog.KindBool:
			out = append(out, key.Bool(a.Value.Bool()))
		default:
			if list, ok := a.Value.Any().([]string); ok {
				out = append(out, key.StringSlice(list))
			} else {
				out = append(out, key.String(a.Value.String()))
			}
		}
	}
	return out
}
