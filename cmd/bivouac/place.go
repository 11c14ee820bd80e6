package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bivouac-ml/bivouac/checkpoint/transfer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"

	_ "github.com/bivouac-ml/bivouac/store/object/s3" // the scheme s3
)

// schemes are the schemes of URLs that this program opens.
var schemes = append([]string{"s3"}, moreSchemes...)

// opens reports whether this program opens URLs of a scheme.
func opens(scheme string) bool { return slices.Contains(schemes, strings.ToLower(scheme)) }

// place is what an argument names: a path of the local file system, or the URL of a name in an
// object store. The library takes its text as it is.
type place string

// remote reports whether a place is a URL.
func (p place) remote() bool { return store.IsURL(string(p)) }

// join returns the text of a place below p.
func (p place) join(below ...string) string {
	if p.remote() {
		root, name := store.SplitURL(string(p))
		return store.JoinURL(root, path.Join(append([]string{name}, below...)...))
	}
	return filepath.Join(append([]string{string(p)}, below...)...)
}

// base returns the last element of a place; of a whole bucket its host.
func (p place) base() string {
	if p.remote() {
		root, name := store.SplitURL(string(p))
		if name != "" {
			return path.Base(name)
		}
		_, host, _ := strings.Cut(root, "://")
		host, _, _ = strings.Cut(host, "?")
		return host
	}
	return filepath.Base(filepath.Clean(string(p)))
}

// parent returns the text of the place above p.
func (p place) parent() string {
	if p.remote() {
		root, name := store.SplitURL(string(p))
		if name = path.Dir(name); name == "." {
			name = ""
		}
		return store.JoinURL(root, name)
	}
	return filepath.Dir(filepath.Clean(string(p)))
}

// open returns the store in which a place is a name. The name is "" for a whole bucket.
func (p place) open(ctx context.Context) (store.Store, string, error) {
	if p.remote() {
		return store.FromURL(ctx, string(p))
	}
	abs, err := filepath.Abs(string(p))
	if err != nil {
		return nil, "", &errs.Error{Kind: errs.Invalid, Subject: string(p), Err: err}
	}
	dir, name := filepath.Split(abs)
	if name == "" {
		return nil, "", &errs.Error{Kind: errs.Invalid, Subject: string(p),
			Want: "a directory below the root of the file system"}
	}
	st, err := local.Open(dir, nil)
	return st, name, err
}

// located works like open, for transfers.
func (p place) located(ctx context.Context) (transfer.Place, error) {
	st, name, err := p.open(ctx)
	return transfer.Place{Store: st, Name: name, Text: string(p)}, err
}

// isDirectory reports whether a place is a directory. The error for a missing one has the kind
// errs.NotFound.
func (p place) isDirectory(ctx context.Context) (bool, error) {
	if p.remote() {
		st, name, err := store.FromURL(ctx, string(p))
		if err != nil || name == "" {
			return err == nil, err
		}
		info, err := st.Stat(ctx, name)
		if errs.KindOf(err) == errs.NotFound {
			err = &errs.Error{Kind: errs.NotFound, Subject: string(p), Got: "no such directory or object"}
		}
		return info.Dir, err
	}
	info, err := os.Stat(string(p))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, &errs.Error{Kind: errs.NotFound, Subject: string(p), Got: "no such file or directory"}
	case errors.Is(err, fs.ErrPermission):
		return false, &errs.Error{Kind: errs.Permission, Subject: string(p), Err: err}
	case err != nil:
		return false, &errs.Error{Kind: errs.IO, Subject: string(p), Err: err}
	}
	return info.IsDir(), nil
}

// entry is a name in a directory.
type entry struct {
	name string
	dir  bool
}

// list lists a directory, in ascending order of names.
func (p place) list(ctx context.Context) ([]entry, error) {
	var out []entry
	if p.remote() {
		st, name, err := store.FromURL(ctx, string(p))
		if err != nil {
			return nil, err
		}
		for info, err := range st.List(ctx, name) {
			if err != nil {
				return nil, err
			}
			out = append(out, entry{info.Name, info.Dir})
		}
		return out, nil
	}
	list, err := os.ReadDir(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: string(p), Err: err}
	}
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Subject: string(p), Err: err}
	}
	for _, e := range list {
		out = append(out, entry{e.Name(), e.IsDir()})
	}
	return out, nil
}

// files lists the files of a checkpoint, which may be one file.
func (p place) files(ctx context.Context) ([]storedFile, error) {
	if !p.remote() {
		return filesBelow(string(p))
	}
	st, root, err := store.FromURL(ctx, string(p))
	if err != nil {
		return nil, err
	}
	if info, err := st.Stat(ctx, root); err == nil && !info.Dir {
		return []storedFile{remoteFile(p.base(), info)}, nil
	}
	var out []storedFile
	var below func(dir string) error
	below = func(dir string) error {
		for info, err := range st.List(ctx, path.Join(root, dir)) {
			switch name := path.Join(dir, info.Name); {
			case err != nil:
				return err
			case info.Dir:
				if err := below(name); err != nil {
					return err
				}
			default:
				out = append(out, remoteFile(name, info))
			}
		}
		return nil
	}
	return out, below("")
}

func remoteFile(name string, info store.Info) storedFile {
	return storedFile{Name: name, Bytes: info.Size, Allocated: info.Size, Links: 1, Modified: info.ModTime.UTC()}
}

// read reads a file or an object, at most limit bytes of it.
func (p place) read(ctx context.Context, limit int64) ([]byte, error) {
	if p.remote() {
		st, name, err := store.FromURL(ctx, string(p))
		if err != nil {
			return nil, err
		}
		r, err := st.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		defer r.Close() //nolint:errcheck // only read
		b := make([]byte, min(r.Size(), limit))
		return b, r.ReadAt(ctx, b, 0)
	}
	f, err := os.Open(string(p))
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Subject: string(p), Err: err}
	}
	defer f.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Subject: string(p), Err: err}
	}
	return b, nil
}

// takesURLs marks commands whose arguments may be URLs.
const takesURLs = "urls"

// addURLs says that the arguments of a command may be URLs.
func (g *global) addURLs(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[takesURLs] = "true"
}

// pathFlags are the flags of all commands whose values are paths.
var pathFlags = map[string]bool{
	"dir": true, "output": true, "key": true, "sign-key": true, "checkpoint-in": true, "checkpoint-out": true,
	"listen": true, "openmetrics": true, "state": true, "tensorboard": true, "sheet": true, "pipeline": true,
	"export": true, "token-file": true,
}

// checkPaths returns an error for a URL that a command cannot open, or a home directory in place of
// a path: the command would look for a file of that name, or make one. It puts
// --unsafe-single-writer into the URLs.
func (g *global) checkPaths(cmd *cobra.Command, args []string) (err error) {
	if cmd.Name() == crashtestCommand {
		args = nil // the job has its own
	}
	for i, arg := range args {
		if cmd.Annotations[takesURLs] != "" && store.IsURL(arg) && !datafs.IsURL(arg) { // file:///…
			if err := datafs.Check(arg); err != nil {
				return err
			}
			arg = datafs.Local(arg)
			args[i] = arg
		}
		switch {
		case store.IsURL(arg) && cmd.Annotations[takesURLs] != "":
			scheme, _, _ := strings.Cut(arg, "://")
			if !opens(scheme) {
				return unknownScheme(arg, scheme)
			}
			if g.unsafeSingleWriter {
				root, name := store.SplitURL(arg)
				mark := "?"
				if strings.Contains(root, "?") {
					mark = "&"
				}
				args[i] = store.JoinURL(root+mark+"unsafe_single_writer=true", name)
			}
		case strings.HasPrefix(arg, "~/") || strings.Contains(arg, "://"):
			if err := localOnly(arg, cmd.CommandPath()+" works on"); err != nil {
				return err
			}
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && pathFlags[f.Name] {
			err = localOnly(f.Value.String(), "--"+f.Name+" takes a path of")
		}
	})
	return err
}

// localOnly returns an error unless arg is a path of the local file system. what begins the remedy,
// such as "bivouac demo works on".
func localOnly(arg, what string) error {
	err := local.CheckPath(arg)
	var e *errs.Error
	if !errors.As(err, &e) || !store.IsURL(arg) {
		return err
	}
	scheme, _, _ := strings.Cut(arg, "://")
	switch {
	case opens(scheme):
		e.Remedy = what + " the local file system: bivouac cp copies checkpoints and runs from and to " +
			strings.ToLower(scheme) + "://"
	case !strings.EqualFold(scheme, "file"):
		return unknownScheme(arg, scheme)
	}
	return e
}

// checkScheme returns an error for a URL that this program does not open.
func checkScheme(url string) error {
	scheme, _, _ := strings.Cut(url, "://")
	if opens(scheme) {
		return nil
	}
	return unknownScheme(url, scheme)
}

func unknownScheme(arg, scheme string) error {
	e := &errs.Error{Kind: errs.Unsupported, Op: "path", Subject: arg,
		Want:   "a path of the local file system, or a URL of " + strings.Join(schemes, "://, ") + "://",
		Got:    "a URL of scheme " + scheme,
		Remedy: "other servers that speak the S3 protocol: s3://bucket/name?endpoint=https://…"}
	switch strings.ToLower(scheme) {
	case "gs", "az":
		e.Remedy = "wheels leave gs:// and az:// out: set BIVOUAC_BINARY to the command of this version that was built " +
			"whole (go install github.com/bivouac-ml/bivouac/cmd/bivouac@VERSION)"
	case "file":
		e.Remedy = "give the path without file://"
	case "abfs", "abfss", "wasb", "wasbs", "adl", "azure":
		e.Remedy = scheme + "://container@account.… is az://account/container/… here"
	}
	return e
}
