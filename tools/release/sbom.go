package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// boms writes for each command the list of what it links, as CycloneDX. The list is read from the
// command itself, where the Go linker wrote it.
func (r *release) boms(context.Context) error {
	text, err := r.licences()
	if err != nil {
		return err
	}
	licence := licencesOf(string(text))
	for _, p := range platforms {
		info, err := buildinfo.Read(bytes.NewReader(r.commands[p]))
		if err != nil {
			return err
		}
		bom, err := r.bom(p, info, licence)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		e := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true)
		if err := e.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
			return err
		}
		if err := r.files.write(r.artefact(p)+".cdx.json", b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// licencesOf returns the SPDX expression of each module in the texts that tools/licences writes.
func licencesOf(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "=== module "); ok {
			if f := strings.SplitN(strings.TrimSpace(rest), " ", 3); len(f) == 3 {
				out[f[0]] = f[2]
			}
		}
	}
	return out
}

func (r *release) bom(platform string, info *buildinfo.BuildInfo, licence map[string]string) (*cdx.BOM, error) {
	sum := sha256.Sum256(r.commands[platform])
	own := component("golang", modulePath, "v"+r.version, licence[modulePath])
	own.Type = cdx.ComponentTypeApplication
	own.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	own.Properties = &[]cdx.Property{{Name: "platform", Value: platform}, {Name: "commit", Value: r.commit}}
	list := []cdx.Component{component("golang", "std", strings.TrimPrefix(info.GoVersion, "go"), licence["std"])}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component("golang", m.Path, m.Version, licence[m.Path]))
	}
	var refs []string
	for _, c := range list {
		if c.Licenses == nil {
			return nil, fmt.Errorf("%s %s is linked, and cmd/bivouac/licences.txt.gz has no licence of it (make generate)",
				c.Name, c.Version)
		}
		refs = append(refs, c.BOMRef)
	}
	slices.Sort(refs)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &own}
	bom.Components = &list
	bom.Dependencies = &[]cdx.Dependency{{Ref: own.BOMRef, Dependencies: &refs}}
	return bom, nil
}

func component(kind, name, version, licence string) cdx.Component {
	url := fmt.Sprintf("pkg:%s/%s@%s", kind, name, version)
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, PackageURL: url, Name: name, Version: version}
	if licence != "" {
		c.Licenses = &cdx.Licenses{{Expression: licence}}
	}
	return c
}
