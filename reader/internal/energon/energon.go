// Package energon reads the file of Megatron-Energon that says which archives a split has.
package energon

import "go.yaml.in/yaml/v3"

// Splits is a split.yaml.
type Splits struct {
	Parts   map[string][]string `yaml:"split_parts"` // names of archives, with ranges
	Exclude []string            `yaml:"exclude"`     // archives, and samples as archive/key
}

// Parse reads a split.yaml.
func Parse(text []byte) (s Splits, err error) {
	err = yaml.Unmarshal(text, &s)
	return s, err
}
