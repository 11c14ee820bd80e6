package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers
)

const description = `Feed training jobs and save them, so that a killed job resumes exactly
Checkpoints that are verified, safe in crashes and open to Orbax; data with
exact positions. The command inspects, verifies, converts, repairs and copies
checkpoints and runs, on disks and in object stores.`

// packages writes a .deb and an .rpm for each architecture of Linux.
func (r *release) packages(ctx context.Context) error {
	scripts, err := r.shellScripts(ctx)
	if err != nil {
		return err
	}
	manual, err := r.manPages(ctx)
	if err != nil {
		return err
	}
	docs, err := r.documents()
	if err != nil {
		return err
	}
	for _, p := range platforms {
		arch, linux := strings.CutPrefix(p, "linux/")
		if !linux {
			continue
		}
		list := []entry{{name: "/usr/bin/bivouac", mode: 0o755, data: r.commands[p]}}
		for _, d := range docs {
			list = append(list, entry{name: "/usr/share/doc/bivouac/" + packaged(d.name), mode: 0o644, data: d.text})
		}
		for shell, text := range scripts {
			list = append(list, entry{name: "/usr/share/" + completions[shell], mode: 0o644, data: text})
		}
		for name, page := range manual {
			list = append(list, entry{name: "/usr/share/man/man1/" + name, mode: 0o644, data: page})
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(format, arch, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// packaged returns the name of a document in a package. Debian wants its licence as "copyright".
func packaged(name string) string {
	if name == "LICENSE" {
		return "copyright"
	}
	return name
}

// pack writes one package. nfpm reads what it packs from files.
func (r *release) pack(format, arch string, list []entry) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	var contents files.Contents
	for _, e := range list {
		file := filepath.Join(dir, filepath.Base(e.name)+"-"+strings.ReplaceAll(e.name, "/", "-"))
		if err := os.WriteFile(file, e.data, 0o644); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: file, Destination: e.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: os.FileMode(e.mode), MTime: r.time}})
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "bivouac", Arch: arch, Platform: "linux", Version: r.version, Release: "1", Section: "science", Priority: "optional",
		Maintainer: "The Bivouac Authors", Description: description, Vendor: "The Bivouac Authors",
		Homepage: "https://" + modulePath, License: "Apache-2.0", MTime: r.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Suggests: []string{"ffmpeg"},
			RPM: nfpm.RPM{BuildHost: "localhost", Compression: "gzip:9"}},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	return r.files.write(packager.ConventionalFileName(info), b.Bytes())
}
