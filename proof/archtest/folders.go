package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Folders returns the top-level folders of the module from the bottom up; folders of one row do not
// import each other. "." is the root package.
func Folders() [][]string {
	return [][]string{
		{"errs"},
		{"telemetry"},
		{"internal"}, // what every floor uses: memory, checksums, kernels, rings, the file system
		{"tensor", "rng"},
		{"order", "state", "tree"},
		{"stream", "record"},
		{"store", "codec", "format"},
		{"op", "journal"},
		{"reader"},
		{"checkpoint", "loader", "pipeline"},
		{"dynamic", "recipes", "cluster"},
		{"compat"},
		{"."},
		{"examples"},
		{"serve"},
		{"cmd"},
		{"proof"},
		{"bench"},
	}
}

// door is the package below its folder that may look up: other projects call the suites by this
// path.
const door = "internal/conform"

// CheckFolders lists the imports between top-level folders that do not lead to a lower row of
// folders.
func CheckFolders(folders [][]string, pkgs []Package, inModule func(path string) bool) []Violation {
	var out []Violation
	for _, p := range pkgs {
		from, ok := rowOf(folders, p.Path)
		if !ok {
			out = append(out, Violation{Package: p.Path, Rule: "its folder is in no row of folders.go"})
			continue
		}
		if match(door+"/...", p.Path) {
			continue
		}
		for _, imp := range p.Imports {
			to, ok := rowOf(folders, imp)
			if !inModule(imp) || !ok || folder(imp) == folder(p.Path) || to < from {
				continue
			}
			rule := fmt.Sprintf("the folder %s is not below %s", folder(imp), folder(p.Path))
			out = append(out, Violation{p.Path, imp, rule})
		}
	}
	return out
}

func rowOf(folders [][]string, path string) (row int, ok bool) {
	row = slices.IndexFunc(folders, func(names []string) bool { return slices.Contains(names, folder(path)) })
	return row, row >= 0
}

func folder(path string) string {
	top, _, _ := strings.Cut(path, "/")
	return top
}
