package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user of the image. A volume that it writes must belong to it, or the caller names
// another user.
const nobody = "65532:65532"

// images writes an image for each architecture of Linux, as `docker load` and `podman load` read
// it. It has the command, the certificates that Mozilla trusts, and nothing else.
func (r *release) images(context.Context) error {
	docs, err := r.documents()
	if err != nil {
		return err
	}
	roots, err := certificates()
	if err != nil {
		return err
	}
	for _, p := range platforms {
		arch, linux := strings.CutPrefix(p, "linux/")
		if !linux {
			continue
		}
		img, err := r.image(arch, r.commands[p], roots, docs)
		if err != nil {
			return err
		}
		tag, err := name.NewTag("bivouac:" + r.version)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := tarball.Write(tag, img, &b); err != nil {
			return err
		}
		if err := r.files.write(fmt.Sprintf("bivouac-%s-image-%s.tar", r.version, arch), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) image(arch string, command, roots []byte, docs []document) (v1.Image, error) {
	list := []entry{
		{name: "etc/", mode: 0o755, dir: true},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0::/:\nbivouac:x:65532:65532::/tmp:\n")},
		{name: "etc/ssl/", mode: 0o755, dir: true},
		{name: "etc/ssl/certs/", mode: 0o755, dir: true},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots},
		{name: "tmp/", mode: 0o1777, dir: true},
		{name: "usr/", mode: 0o755, dir: true},
		{name: "usr/bin/", mode: 0o755, dir: true},
		{name: "usr/bin/bivouac", mode: 0o755, data: command},
		{name: "usr/share/", mode: 0o755, dir: true},
		{name: "usr/share/doc/", mode: 0o755, dir: true},
		{name: "usr/share/doc/bivouac/", mode: 0o755, dir: true},
	}
	for _, d := range docs {
		list = append(list, entry{name: "usr/share/doc/bivouac/" + d.name, mode: 0o644, data: d.text})
	}
	var layer bytes.Buffer
	if err := writeTar(&layer, list, r.time); err != nil {
		return nil, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: l, History: v1.History{
		CreatedBy: "tools/release", Created: v1.Time{Time: r.time}}})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS, file.Created = arch, "linux", v1.Time{Time: r.time}
	file.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/bivouac"}, User: nobody, WorkingDir: "/",
		Env: []string{"PATH=/usr/bin", "HOME=/tmp"},
		Labels: map[string]string{
			"org.opencontainers.image.title": "bivouac", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source": "https://" + modulePath,
		},
	}
	return mutate.ConfigFile(img, file)
}

// certificates returns the roots that Mozilla trusts without a condition, as PEM.
func certificates() ([]byte, error) {
	var b bytes.Buffer
	n := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a file of certificates cannot say until when one is trusted
		}
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
		n++
	}
	if n < 50 {
		return nil, fmt.Errorf("want at least 50 root certificates, got %d", n)
	}
	return b.Bytes(), nil
}
