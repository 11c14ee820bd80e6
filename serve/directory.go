package serve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/errs"
)

// directory changes the working directory of this process to the working directory of the client.
// Relative paths in the graphs that the client sends later begin there.
func directory(k *call) (reply, error) {
	const what = "serve.directory"
	path := k.args.text("path")
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	if !filepath.IsAbs(path) {
		return reply{}, &errs.Error{Kind: errs.Invalid, Op: what, Subject: "argument path", Want: "an absolute path",
			Got: clipped([]byte(path))}
	}
	if !k.own {
		return reply{}, &errs.Error{Kind: errs.Unsupported, Op: what, Want: "a server of one client",
			Got: "a server that several clients share", Remedy: "give absolute paths"}
	}
	err := os.Chdir(path)
	if err == nil {
		return nothing(nil)
	}
	kind := errs.IO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = errs.Permission
	}
	return reply{}, &errs.Error{Kind: kind, Op: what, Subject: path, Want: "the working directory of the client", Err: err}
}
