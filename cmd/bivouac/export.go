package main

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/tensor"
)

// exporter writes leaves of a tree to files of numpy and safetensors.
type exporter struct {
	r         *checkpoint.Reader
	overwrite bool
	work      *work
	files     []exportedFile // complete files
}

// exportedFile is a file that was written.
type exportedFile struct {
	Path   string   `json:"path"`
	Leaves []string `json:"leaves"`
	Bytes  int64    `json:"bytes"`
}

func newExporter(r *checkpoint.Reader, overwrite bool, g *global) *exporter {
	return &exporter{r: r, overwrite: overwrite, work: newWork(g), files: []exportedFile{}}
}

// export writes leaves in the format that the name of the output says. Leaves that the format
// cannot hold are an error before anything is written.
func (e *exporter) export(ctx context.Context, leaves []checkpoint.LeafInfo, output string) error {
	switch filepath.Ext(output) {
	case ".npz":
		return e.npz(ctx, leaves, output)
	case ".safetensors":
		return e.safetensors(ctx, leaves, output)
	case ".npy":
		if len(leaves) != 1 {
			return usageError{&errs.Error{Kind: errs.Invalid, Op: "extract", Subject: output, Want: "one leaf in a .npy file",
				Got: strconv.Itoa(len(leaves)), Remedy: "name a directory, or a .npz file"}}
		}
		if err := numpyHolds(leaves); err != nil {
			return err
		}
		return e.npy(ctx, leaves[0], output)
	}
	if err := directoryName(output); err != nil {
		return err
	}
	return e.directory(ctx, leaves, output)
}

// directoryName returns an error for the name of a new directory that looks like a file name.
func directoryName(name string) error {
	ext := filepath.Ext(name)
	if ext == "" || ext == name || strings.HasSuffix(name, "/") {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	return usageError{&errs.Error{Kind: errs.Invalid, Op: "extract", Subject: name, Want: "a directory, or a file .npy, .npz or .safetensors", Got: "a name that ends in " + ext,
		Remedy: "name it " + name + "/ if it is to be a directory"}}
}

// staysInside returns an error for a member name that leads out of the directory where the archive
// is unpacked.
func staysInside(leaves []checkpoint.LeafInfo) error {
	for _, l := range leaves {
		if !filepath.IsLocal(l.Param) || strings.ContainsAny(l.Param, "\\\x00") {
			return &errs.Error{Kind: errs.Unsupported, Subject: "leaf " + strconv.Quote(l.Param),
				Want:   "a name that stays inside the directory where the archive is unpacked",
				Remedy: "write .safetensors, or rename the leaf first: bivouac surgery"}
		}
	}
	return nil
}

// directory writes a .npy file for each leaf.
func (e *exporter) directory(ctx context.Context, leaves []checkpoint.LeafInfo, dir string) error {
	for _, l := range leaves {
		if strings.ContainsAny(l.Param, "/\\\x00") {
			return &errs.Error{Kind: errs.Unsupported, Op: "extract", Subject: l.Param, Got: "a name that no file can have", Remedy: "extract to a .npz or .safetensors file"}
		}
	}
	if err := numpyHolds(leaves); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return unwritable(dir, err)
	}
	for _, l := range leaves {
		if err := e.npy(ctx, l, filepath.Join(dir, l.Param+".npy")); err != nil {
			return err
		}
	}
	return nil
}

// numpyHolds returns an error that names all leaves with types that numpy does not have.
func numpyHolds(leaves []checkpoint.LeafInfo) error {
	var bad []string
	for _, l := range leaves {
		if _, err := (npy.Header{DType: l.DType, Shape: l.Shape}).Append(nil); err != nil {
			bad = append(bad, l.Param+" ("+l.DType.String()+")")
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Subject: some(bad), Want: "a type that numpy has",
		Remedy: "write .safetensors, which supports them, or leave out these leaves"}
}

// some lists at most a few names for a message.
func some(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}

// npy writes one array.
func (e *exporter) npy(ctx context.Context, l checkpoint.LeafInfo, name string) error {
	return e.file(name, []checkpoint.LeafInfo{l}, func(w io.Writer) error { return e.writeNpy(ctx, w, l) })
}

func (e *exporter) writeNpy(ctx context.Context, w io.Writer, l checkpoint.LeafInfo) error {
	head, err := npy.Header{DType: l.DType, Shape: l.Shape}.Append(nil)
	if err != nil {
		return errs.Wrap("", l.Param, err)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return copyElements(ctx, w, e.r, l)
}

// npz writes an archive.
func (e *exporter) npz(ctx context.Context, leaves []checkpoint.LeafInfo, name string) error {
	if err := numpyHolds(leaves); err != nil {
		return err
	}
	if err := staysInside(leaves); err != nil {
		return err
	}
	return e.file(name, leaves, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, l := range leaves {
			member, err := z.CreateHeader(&zip.FileHeader{Name: l.Param + ".npy", Method: zip.Store})
			if err != nil {
				return err
			}
			if err := e.writeNpy(ctx, member, l); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// safetensors writes one file.
func (e *exporter) safetensors(ctx context.Context, leaves []checkpoint.LeafInfo, name string) error {
	specs, by := map[string]tensor.Spec{}, map[string]checkpoint.LeafInfo{}
	for _, l := range leaves {
		if tensor.PackedSize(l.DType, 8) != 8*l.DType.Size() {
			return &errs.Error{Kind: errs.Unsupported, Subject: l.Param, Got: l.DType.String(), Remedy: "bivouac convert --to safetensors writes packed types"}
		}
		specs[l.Param], by[l.Param] = tensor.Spec{DType: l.DType, Shape: l.Shape}, l
	}
	h, err := safetensors.NewHeader(specs, nil)
	if err != nil {
		return err
	}
	return e.file(name, leaves, func(w io.Writer) error {
		if _, err := w.Write(h.Append(nil)); err != nil {
			return err
		}
		for _, t := range h.Tensors {
			if err := copyElements(ctx, w, e.r, by[t.Name]); err != nil {
				return err
			}
		}
		return nil
	})
}

// file makes a file that appears when it is complete and durable.
func (e *exporter) file(name string, leaves []checkpoint.LeafInfo, write func(io.Writer) error) (err error) {
	if _, err := os.Lstat(name); err == nil && !e.overwrite {
		return &errs.Error{Kind: errs.Exists, Subject: name, Remedy: "choose another name, or give --overwrite"}
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return unwritable(name, err)
	}
	defer func() {
		if err != nil {
			f.Close()           //nolint:errcheck // the first reason counts
			os.Remove(f.Name()) //nolint:errcheck // the first reason counts
			err = unwritable(name, err)
		}
	}()
	out := exportedFile{Path: name}
	total := int64(0)
	for _, l := range leaves {
		out.Leaves = append(out.Leaves, l.Param)
		total += l.Bytes()
	}
	tell := e.work.on(filepath.Base(name))
	counted := &countingWriter{w: f, tell: func(n int64) { tell(min(n, total), total) }}
	b := bufio.NewWriterSize(counted, 1<<20)
	if err := write(b); err != nil {
		return err
	}
	for _, step := range []func() error{b.Flush, f.Sync, func() error { return f.Chmod(0o644) }, f.Close} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	out.Bytes = counted.n
	e.files = append(e.files, out)
	return syncDirectory(filepath.Dir(name))
}

// syncDirectory makes names in a directory durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// unwritable returns the reason why a file was not written: an error of the system, or of reading
// its contents.
func unwritable(name string, err error) error {
	var known *errs.Error
	if errors.As(err, &known) {
		return errs.Wrap("write", name, err)
	}
	e := &errs.Error{Kind: errs.IO, Op: "write", Subject: name, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind, e.Remedy = errs.NotFound, "make the directory "+filepath.Dir(name)+" first"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Kind, e.Remedy = errs.Permission, "choose a directory that you may write to"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Remedy = errs.Exhausted, "free space, or choose another disk; nothing was left behind"
	}
	return e
}

// countingWriter counts and reports the bytes that go through it.
type countingWriter struct {
	w    io.Writer
	n    int64
	tell func(int64)
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}

// pieceBytes is how many bytes of an array are read at a time.
const pieceBytes = 8 << 20

// copyElements writes all elements of an array in C order.
func copyElements(ctx context.Context, w io.Writer, r *checkpoint.Reader, l checkpoint.LeafInfo) error {
	return copyBox(ctx, w, r, l, make([]int, len(l.Shape)), slices.Clone(l.Shape))
}

// copyBox writes the elements of a part of an array in C order, piece by piece:
// it is cut along its first axes until the pieces are small.
func copyBox(ctx context.Context, w io.Writer, r *checkpoint.Reader, l checkpoint.LeafInfo, origin, shape []int) error {
	bytes := l.DType.Size()
	for _, n := range shape {
		bytes *= n
	}
	axis := slices.IndexFunc(shape, func(n int) bool { return n > 1 })
	if bytes <= pieceBytes || axis < 0 {
		buf := make([]byte, bytes)
		if err := r.ReadBox(ctx, l, origin, shape, buf); err != nil {
			return err
		}
		_, err := w.Write(buf)
		return err
	}
	step := max(1, int(int64(pieceBytes)/(int64(bytes)/int64(shape[axis]))))
	for at := 0; at < shape[axis]; at += step {
		o, s := slices.Clone(origin), slices.Clone(shape)
		o[axis], s[axis] = origin[axis]+at, min(step, shape[axis]-at)
		if err := copyBox(ctx, w, r, l, o, s); err != nil {
			return err
		}
	}
	return nil
}
