package orbax

import (
	"encoding/base64"
	"encoding/json"
)

// KeyArray is the array of a leaf of typed PRNG keys.
type KeyArray struct {
	Param string
	Impl  string // name of the implementation of the keys
	Shape []int  // shape of the array, stored in one piece
}

// AppendArrays appends array_metadatas/process_0 for the arrays.
func AppendArrays(dst []byte, keys []KeyArray) []byte {
	dst = append(dst, `{"array_metadatas":[`...)
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"array_metadata":{"param_name":`...), k.Param)
		dst = appendShape(append(dst, `,"write_shape":`...), k.Shape)
		dst = appendShape(append(dst, `,"chunk_shape":`...), k.Shape)
		dst = appendString(append(dst, `,"ext_metadata":{"random_key_impl":`...), k.Impl)
		dst = append(dst, "}}}"...)
	}
	return append(dst, "]}"...)
}

// AppendSharding appends _sharding for the arrays. It places them on the device that every host
// has, to which JAX arrays are loaded if the caller names no device.
func AppendSharding(dst []byte, keys []KeyArray) []byte {
	const device = `{"sharding_type": "SingleDeviceSharding", "device_str": "cpu:0"}`
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, base64.URLEncoding.EncodeToString([]byte(k.Param)))
		dst = appendString(append(dst, ':'), device)
	}
	return append(dst, '}')
}

// ParseArrays reads array_metadatas/process_N and returns, for each parameter
// that holds a typed PRNG key, the name of the key's implementation.
func ParseArrays(file string, b []byte) (map[string]string, error) {
	var d struct {
		Arrays []struct {
			Array struct {
				Param string `json:"param_name"`
				Ext   *struct {
					Impl string `json:"random_key_impl"`
				} `json:"ext_metadata"`
			} `json:"array_metadata"`
		} `json:"array_metadatas"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, corrupt(ArraysDir+"/"+file, "%v", err)
	}
	impls := map[string]string{}
	for _, a := range d.Arrays {
		if a.Array.Ext != nil && a.Array.Ext.Impl != "" {
			impls[a.Array.Param] = a.Array.Ext.Impl
		}
	}
	return impls, nil
}
