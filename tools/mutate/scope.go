package main

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// What is looked at, relative to the module. A new file or package is, until it is
// said here that it only reads.
var (
	// notSynced holds the packages that pass syncs on or imitate them.
	notSynced = regexp.MustCompile(`^(proof/crash|proof/conform|internal/conform|bench|examples|tools)(/|$)|^internal/vfs/vfstest/`)
	// verified holds those whose checksum comparisons are sites.
	verified = regexp.MustCompile(`^(store|store/local|format/ocdbt|format/zarr|checkpoint|checkpoint/(integrity|partial|training|transfer|internal/[a-z]+))$`)
	// damaging holds those whose checks for damage are.
	damaging = regexp.MustCompile(`^checkpoint(/integrity|/internal/(layout|manifest|parts))?$`)
	// kernel holds the files that ask the kernel: what they make of its errors are sites as well.
	kernel = regexp.MustCompile(`^internal/vfs/os[a-z_]*\.go$`)
	// deciding holds the files whose every decision is a site: what a job makes of what lies in
	// its directory, of its stream and of signals, and what a directory of steps is.
	deciding = regexp.MustCompile(`^((job|resume|preempt|state)|checkpoint/training/(remains|level))\.go$`)
	// protocol holds the files of the protocols over a bucket and over a board of documents. Every
	// condition of theirs is a site, and so are the orders of requests.
	protocol = regexp.MustCompile(
		`^(store/object/(commit|txn|writer|remove|collect|lock|lease|pin|put|documents|request|store)|` +
			`cluster/(collective|lease|member|join|documents|directory))\.go$`)
	// committing matches the packages whose error checks and orderings are sites, except in files that
	// only read: those read, compute, or prepare what is committed.
	committing = regexp.MustCompile(`^(store/local|internal/vfs|checkpoint|checkpoint/(integrity|partial|training|transfer|internal/[a-z]+))$`)
	reading    = regexp.MustCompile(`^(store/local/(kind|live|local|read)|internal/vfs/(lock[a-z_]*|vfs)|` +
		`checkpoint/(abstract|checkpointables|compare|destination|engine|foreign[a-z_]*|lazy|load|loading|metadata|nested|options|reader|report|request|shards|stats|transform|want|wanted_items)|` +
		`checkpoint/integrity/(repair|verify)|` +
		`checkpoint/internal/(cast|layout|locate|manifest|orbax|pending|plan)/[a-z_]+|` +
		`checkpoint/internal/writer/(array|cast|collect|cut|database|digest|form|item|layout|leaf|mode|pace|place|plain|raw|safetensors|schedule|snapshot|source|storage|tree|writer)|` +
		`checkpoint/training/(async|best|checkpointer|decide|event|info|interface|load|names|options|preserve|retention|spec|transform))\.go$`)
)

// key names what a package in directory dir calls name: what is not exported is
// its own, what is exported may be anybody's.
func key(dir, name string) string {
	if ast.IsExported(name) {
		return name
	}
	return dir + "." + name
}

// handing is how many functions hand on what one that compares a checksum says,
// at most, and are still taken for a check.
const handing = 2

// checkersOf returns the functions that compare a checksum, by key, and those
// that hand on what one of them says: in the formats and for the manifest all that
// call one, elsewhere those that are not exported.
func checkersOf(files []*source) map[string]bool {
	checkers := map[string]bool{}
	each(files, verified, func(f *source, fn *ast.FuncDecl) {
		if f.comparesAny(fn) {
			checkers[key(f.dir(), fn.Name.Name)] = true
		}
	})
	for range handing {
		var callers []string
		each(files, verified, func(f *source, fn *ast.FuncDecl) {
			if fn.Name.IsExported() && !strings.HasPrefix(f.name, "format/") && f.dir() != "checkpoint/internal/manifest" {
				return
			}
			calls(fn.Body, func(c *ast.CallExpr) {
				if checkers[key(f.dir(), callee(c))] {
					callers = append(callers, key(f.dir(), fn.Name.Name))
				}
			})
		})
		for _, k := range callers {
			checkers[k] = true
		}
	}
	return checkers
}

// commits reports whether a file holds functions on the commit path.
func (f *source) commits() bool {
	return committing.MatchString(f.dir()) && !reading.MatchString(f.name)
}

// protocol reports whether a file holds functions of a protocol over requests.
func (f *source) protocol() bool { return protocol.MatchString(f.name) }

// each visits the functions with a body in the packages that match.
func each(files []*source, dirs *regexp.Regexp, visit func(*source, *ast.FuncDecl)) {
	for _, f := range files {
		if !dirs.MatchString(f.dir()) {
			continue
		}
		for _, d := range f.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				visit(f, fn)
			}
		}
	}
}

// dir is the package of the file.
func (f *source) dir() string { return path.Dir(f.name) }
