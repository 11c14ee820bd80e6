package errs

import (
	"slices"
	"strings"
)

// openParameters are the parameters of URLs of buckets that are no secret.
var openParameters = []string{"region", "endpoint", "path_style", "anonymous", "unsigned_body", "unsafe_single_writer",
	"user_project"}

// WithoutSecrets returns a text with a URL such that it can be printed and logged: what stands in
// front of "@", and the values of parameters that may be secret, become "…".
func WithoutSecrets(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	place, query, asked := strings.Cut(rest, "?")
	host, _, _ := strings.Cut(place, "/")
	if strings.ContainsAny(host, ":@") { // a secret may contain "/"
		if at := strings.LastIndexByte(place, '@'); at >= 0 {
			place = "…" + place[at:]
		}
	}
	if !asked {
		return scheme + "://" + place
	}
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		switch {
		case !slices.Contains(openParameters, name) && value == "":
			parameters[i] = "…"
		case !slices.Contains(openParameters, name) || strings.Contains(value, "@"):
			parameters[i] = name + "=…"
		}
	}
	return scheme + "://" + place + "?" + strings.Join(parameters, "&")
}
