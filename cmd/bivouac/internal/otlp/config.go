// Package otlp sends spans and metrics to a collector by OTLP over HTTP, with protocol buffers. Its
// settings are the environment variables of the OpenTelemetry specification.
//
// The exporters of the OpenTelemetry project for this protocol link gRPC, which links the templates
// of the standard library. With templates, the linker keeps every exported method of the command.
// So this package has a transport of its own, over net/http. Spans are encoded by the project's
// package otlptrace, and protocol buffers by its package proto.
package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Signal is what is sent: spans or metrics.
type Signal string

// The signals, as the specification spells them in the names of variables.
const (
	Traces  Signal = "TRACES"
	Metrics Signal = "METRICS"
)

// Environment returns the value of a variable, or "".
type Environment func(name string) string

// Wanted reports whether a signal is to be sent. It is if its exporter is otlp, or if an endpoint
// is set and its exporter is not. err, if not nil, is why a signal that is asked for cannot be
// sent. The specification sends to this machine when nothing is set; a command does not.
func (env Environment) Wanted(s Signal) (wanted bool, err error) {
	if strings.EqualFold(env.get("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	name := "OTEL_" + string(s) + "_EXPORTER"
	switch exporter := env.get(name); exporter {
	case "":
		return env.get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env.get(s.own("ENDPOINT")) != "", nil
	case "otlp":
		return true, nil
	case "none":
		return false, nil
	default:
		return false, invalid(name, "otlp or none", strconv.Quote(exporter), "")
	}
}

// get returns a variable without the space around it.
func (env Environment) get(name string) string { return strings.TrimSpace(env(name)) }

// own returns the name of a variable that is about one signal.
func (s Signal) own(name string) string { return "OTEL_EXPORTER_OTLP_" + string(s) + "_" + name }

// of returns the variable of a signal, or else the variable of all signals, and the name of the one
// that is set.
func (env Environment) of(s Signal, name string) (variable, value string) {
	if v := env.get(s.own(name)); v != "" {
		return s.own(name), v
	}
	return "OTEL_EXPORTER_OTLP_" + name, env.get("OTEL_EXPORTER_OTLP_" + name)
}

func invalid(variable, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "telemetry", Subject: variable, Want: want, Got: got, Remedy: remedy}
}

// config says how a signal is sent.
type config struct {
	url     string
	headers http.Header
	timeout time.Duration
	gzip    bool
	tls     *tls.Config // nil: the default
}

// Defaults of the specification.
const (
	defaultEndpoint = "http://localhost:4318"
	defaultTimeout  = 10 * time.Second
)

// config reads the settings of a signal.
func (env Environment) config(s Signal) (c config, err error) {
	if name, v := env.of(s, "PROTOCOL"); v != "" && v != "http/protobuf" {
		return c, invalid(name, "http/protobuf", strconv.Quote(v), "collectors listen for it on port 4318")
	}
	if c.url, err = env.endpoint(s); err != nil {
		return c, err
	}
	if c.headers, err = env.headers(s); err != nil {
		return c, err
	}
	c.timeout = defaultTimeout
	if name, v := env.of(s, "TIMEOUT"); v != "" {
		ms, err := strconv.ParseUint(v, 10, 31)
		if err != nil || ms == 0 {
			return c, invalid(name, "a number of milliseconds above 0", strconv.Quote(v), "")
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	switch name, v := env.of(s, "COMPRESSION"); v {
	case "gzip":
		c.gzip = true
	case "", "none":
	default:
		return c, invalid(name, "gzip or none", strconv.Quote(v), "")
	}
	c.tls, err = env.tls(s)
	return c, err
}

// endpoint returns the URL of a signal. The path of the signal is appended to the endpoint of all
// signals only.
func (env Environment) endpoint(s Signal) (string, error) {
	name, v := env.of(s, "ENDPOINT")
	if v == "" {
		v = defaultEndpoint
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", invalid(name, "a URL such as "+defaultEndpoint, strconv.Quote(errs.WithoutSecrets(v)), "")
	}
	if name != s.own("ENDPOINT") {
		u = u.JoinPath("v1", strings.ToLower(string(s)))
	}
	return u.String(), nil
}

// headers reads a list such as "api-key=secret,tenant=a%20b". An error does not tell values.
func (env Environment) headers(s Signal) (http.Header, error) {
	out := http.Header{}
	name, list := env.of(s, "HEADERS")
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		key, value, found := strings.Cut(item, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		odd := key == "" || strings.ContainsAny(key, " \t\r\n:") || strings.ContainsAny(value, "\r\n\x00")
		if !found || odd || err != nil {
			return nil, invalid(name, "a list of key=value, with %XX for special characters",
				"an element that is not such", "the others have no effect either")
		}
		out.Set(key, value)
	}
	return out, nil
}

// tls reads the files with certificates.
func (env Environment) tls(s Signal) (*tls.Config, error) {
	rootName, root := env.of(s, "CERTIFICATE")
	certName, cert := env.of(s, "CLIENT_CERTIFICATE")
	_, key := env.of(s, "CLIENT_KEY")
	if root == "" && cert == "" && key == "" {
		return nil, nil //nolint:nilnil // the default of net/http
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if root != "" {
		b, err := os.ReadFile(root)
		if err != nil {
			return nil, &errs.Error{Kind: errs.IO, Op: "telemetry", Subject: rootName, Err: err}
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, invalid(rootName, "a file with a certificate in PEM", root, "")
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "telemetry", Subject: certName,
				Want: "a certificate in PEM, with its key in OTEL_EXPORTER_OTLP_CLIENT_KEY", Err: err}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
