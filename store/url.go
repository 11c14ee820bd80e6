package store

import (
	"context"
	"net/url"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Opener opens the store of a URL. name is the name in the store that the path of the URL leads to;
// "" is the root.
type Opener func(ctx context.Context, u *url.URL) (st Store, name string, err error)

var (
	schemes   sync.Map // scheme -> Opener
	openLock  sync.Mutex
	openedURL = map[string]Store{} // by scheme, host and query
)

// Register makes FromURL open URLs of a scheme, such as "s3". Packages that do it are imported for
// this effect. The first call for a scheme counts.
func Register(scheme string, open Opener) { schemes.LoadOrStore(scheme, open) }

// IsURL reports whether a path is the URL of a store: letters, "://" and more. The path of a local
// file never is, because it would have an empty element.
func IsURL(path string) bool {
	scheme, _, ok := strings.Cut(path, "://")
	return ok && scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// FromURL opens the store of a URL, such as "s3://bucket/run", and returns the name in it. URLs
// with the same scheme, host and query share one store for the life of the process.
func FromURL(ctx context.Context, path string) (st Store, name string, err error) {
	const op = "store.FromURL"
	u, err := url.Parse(path)
	if err != nil {
		// The error of the package would repeat what may be a secret.
		return nil, "", &errs.Error{Kind: errs.Invalid, Op: op, Want: "a URL as scheme://bucket/name",
			Got: "a text that is no URL"}
	}
	if u.User != nil {
		return nil, "", &errs.Error{Kind: errs.Invalid, Op: op, Subject: u.Scheme + "://" + u.Host,
			Got: "credentials in the URL",
			Remedy: "give them by the environment or the configuration files of the provider: " +
				"a URL is printed and logged"}
	}
	open, ok := schemes.Load(strings.ToLower(u.Scheme))
	if !ok {
		return nil, "", &errs.Error{Kind: errs.Unsupported, Op: op, Subject: u.Scheme + "://" + u.Host,
			Want: "a scheme that this program knows", Got: u.Scheme,
			Remedy: "import the package of the store for its effect, " +
				"such as github.com/bivouac-ml/bivouac/store/object/s3 for s3"}
	}
	openLock.Lock()
	defer openLock.Unlock()
	key := u.Scheme + "://" + u.Host + "?" + u.RawQuery
	st, name, err = open.(Opener)(ctx, u) //nolint:forcetypeassert // only Register stores there
	if err != nil {
		return nil, "", err
	}
	if known := openedURL[key]; known != nil {
		st = known
	}
	openedURL[key] = st
	return st, name, nil
}
