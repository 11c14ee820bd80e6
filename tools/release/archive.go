package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"slices"
	"strings"
	"time"
)

// An entry is a file or directory of an archive.
type entry struct {
	name string
	mode int64
	data []byte
	dir  bool
}

// writeTar writes entries as a tar archive. All have the owner 0 and the same time.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at,
			Format: tar.FormatUSTAR}
		if e.dir {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// archives writes one .tar.gz for each platform.
func (r *release) archives(ctx context.Context) error {
	docs, err := r.documents()
	if err != nil {
		return err
	}
	scripts, err := r.shellScripts(ctx)
	if err != nil {
		return err
	}
	for _, p := range platforms {
		folder := r.artefact(p)
		list := []entry{{name: folder + "/bivouac", mode: 0o755, data: r.commands[p]}}
		for _, d := range docs {
			list = append(list, entry{name: folder + "/" + d.name, mode: 0o644, data: d.text})
		}
		for shell, text := range scripts {
			list = append(list, entry{name: folder + "/completions/bivouac." + shell, mode: 0o644, data: text})
		}
		slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := writeTar(z, list, r.time); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := r.files.write(folder+".tar.gz", b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// artefact returns the name of what a platform gets, without an extension.
func (r *release) artefact(platform string) string {
	return "bivouac-" + r.version + "-" + strings.ReplaceAll(platform, "/", "-")
}
