package store

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Opener opens the store of a URL without a name, such as "s3://bucket?region=eu-west-1" or
// "az://account/container".
type Opener func(ctx context.Context, root string) (Store, error)

var (
	schemes sync.Map // scheme -> Opener
	opened  sync.Map // URL without a path -> *opening
)

// opening is a store that is opened once. A failure is not kept: the next caller tries again.
type opening struct {
	turn chan struct{} // holds one element unless a caller is opening the store
	st   Store
}

// Register makes FromURL open URLs of a scheme, such as "s3". Packages that do it are imported for
// this effect. The first call for a scheme counts.
func Register(scheme string, open Opener) { schemes.LoadOrStore(scheme, open) }

// IsURL reports whether a path is the URL of a store: letters, "://" and more. The path of a local
// file never is, because it would have an empty element.
func IsURL(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" &&
		strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// SplitURL splits a URL into the URL of its store and the name in the store. The URL of a store has
// no path, except az://account/container. The name is taken as it stands: "%2F" is three
// characters.
func SplitURL(url string) (root, name string) {
	scheme, rest, _ := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	rest, query, asked := strings.Cut(rest, "?")
	host, name, _ := strings.Cut(rest, "/")
	if scheme == azure {
		var container string
		if container, name, _ = strings.Cut(name, "/"); container != "" {
			host += "/" + container
		}
	}
	root = scheme + "://" + host
	if asked && query != "" {
		root += "?" + query
	}
	return root, strings.Trim(name, "/")
}

// azure is the scheme of Azure Blob Storage. Its stores are containers of accounts.
const azure = "az"

// JoinURL returns the URL of a name in the store of a URL without a name. It is the inverse of
// SplitURL.
func JoinURL(root, name string) string {
	host, query, asked := strings.Cut(root, "?")
	if name != "" {
		host += "/" + name
	}
	if asked {
		host += "?" + query
	}
	return host
}

// FromURL opens the store of a URL, such as "s3://bucket/run", and returns the name in it. URLs
// that differ only in their names share one store for the life of the process.
func FromURL(ctx context.Context, url string) (st Store, name string, err error) {
	const op = "store.FromURL"
	root, name := SplitURL(url)
	scheme, host, _ := strings.Cut(root, "://")
	host, _, _ = strings.Cut(host, "?")
	switch scheme {
	case "abfs", "abfss", "wasb", "wasbs", "adl":
		_, after, _ := strings.Cut(host, "@") // what is in front may be a container, or a secret
		return nil, "", &errs.Error{Kind: errs.Unsupported, Op: op, Subject: scheme + "://" + after,
			Want: "a URL az://account/container/name", Got: "a URL of scheme " + scheme,
			Remedy: scheme + "://container@account.… is az://account/container/… here"}
	}
	_, after, ok := strings.Cut(host, "@")
	if !ok && strings.Contains(host, ":") { // a secret may contain "/"
		_, after, ok = strings.Cut(name, "@")
	}
	if ok {
		// The error must not repeat what may be a secret.
		return nil, "", &errs.Error{Kind: errs.Invalid, Op: op, Subject: scheme + "://" + after,
			Got: "credentials in the URL",
			Remedy: "give them by the environment or the configuration files of the provider: " +
				"a URL is printed and logged"}
	}
	open, known := schemes.Load(scheme)
	if !known {
		return nil, "", &errs.Error{Kind: errs.Unsupported, Op: op, Subject: scheme + "://" + host,
			Want: "a URL whose scheme this program knows: " + knownSchemes(), Got: scheme,
			Remedy: "a program knows a scheme once it imports the package of the store for its effect, " +
				"such as github.com/bivouac-ml/bivouac/store/object/s3 for s3, and …/azure for az"}
	}
	if name != "" {
		if err := CheckName(op, name); err != nil {
			return nil, "", err
		}
	}
	made := &opening{turn: make(chan struct{}, 1)}
	made.turn <- struct{}{}
	first, _ := opened.LoadOrStore(root, made)
	o := first.(*opening) //nolint:forcetypeassert // nothing else is stored there
	select {
	case <-o.turn:
	case <-ctx.Done():
		return nil, "", &errs.Error{Kind: errs.Canceled, Op: op, Subject: scheme + "://" + host, Err: context.Cause(ctx)}
	}
	defer func() { o.turn <- struct{}{} }()
	if o.st == nil {
		o.st, err = open.(Opener)(ctx, root) //nolint:forcetypeassert // only Register stores there
	}
	return o.st, name, err
}

// Forget makes FromURL open each store anew, as when the process has got other credentials. Stores
// that were opened before stay as they are.
func Forget() { opened.Clear() }

// knownSchemes lists the schemes that this program knows.
func knownSchemes() string {
	var all []string
	schemes.Range(func(scheme, _ any) bool {
		all = append(all, scheme.(string)) //nolint:forcetypeassert // only Register stores there
		return true
	})
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
