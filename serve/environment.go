package serve

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Variables in which the drivers of buckets find endpoints and credentials, and the way to servers.
var (
	variablePrefixes = []string{"AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "GCE_"}
	variableNames    = []string{"STORAGE_EMULATOR_HOST", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
		"https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)

// isVariable reports whether a client may set a variable.
func isVariable(name string) bool {
	return !strings.ContainsAny(name, "=\x00") && (slices.Contains(variableNames, name) ||
		slices.ContainsFunc(variablePrefixes, func(p string) bool { return strings.HasPrefix(name, p) }))
}

// environment sets variables of this process as the client has them now. Stores of URLs are opened
// anew after that, with the new credentials. Checkpointers that are open keep theirs. No error
// repeats a value.
func environment(k *call) (reply, error) {
	c := &cursor{b: k.args.raw("variables")}
	values := map[string]*string{}
	for c.enter('{'); c.err == nil && c.more('}'); {
		name := c.text()
		values[name] = nil
		if !c.isNull() {
			text := c.text()
			values[name] = &text
		}
	}
	if c.err != nil && k.args.err == nil {
		k.args.err = &errs.Error{Kind: errs.Invalid, Subject: "argument variables",
			Want: "an object of names and texts", Got: "something else"}
	}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		if !isVariable(name) {
			return reply{}, &errs.Error{Kind: errs.Invalid, Op: "serve.environment",
				Subject: "variable " + clipped([]byte(name)), Want: "a variable of buckets, such as AWS_PROFILE",
				Got: "another variable"}
		}
	}
	if !k.own {
		return reply{}, &errs.Error{Kind: errs.Unsupported, Op: "serve.environment",
			Want: "a server of one client", Got: "a server that several clients share",
			Remedy: "set the variables where bivouac serve --listen starts"}
	}
	for _, name := range names {
		var err error
		if v := values[name]; v == nil {
			err = os.Unsetenv(name)
		} else {
			err = os.Setenv(name, *v)
		}
		if err != nil {
			return reply{}, &errs.Error{Kind: errs.Invalid, Op: "serve.environment", Subject: "variable " + name,
				Got: "a value that the system refuses"}
		}
	}
	store.Forget()
	return nothing(nil)
}
