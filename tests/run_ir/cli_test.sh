#!/usr/bin/env bash
# The built tool from outside: exit statuses, what goes to stdout and stderr. Usage: cli_test.sh RUN_IR MODELS
set -uo pipefail

run_ir=$1
models=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect STATUS ARGUMENTS...: runs the tool, keeps its output in $folder/out and $folder/err.
expect() {
  local wanted=$1
  shift
  command="run_ir $*"
  "$run_ir" "$@" >"$folder/out" 2>"$folder/err"
  local status=$?
  if [[ $status -ne $wanted ]]; then
    fail "exit status $status, expected $wanted"
    cat "$folder/out" "$folder/err"
  fi
}

fail() {
  echo "FAIL $command: $1"
  failures=$((failures + 1))
}

# shows PATTERN, complains PATTERN: extended regular expressions, for a line of stdout or stderr.
shows() { grep -Eq -- "$1" "$folder/out" || fail "stdout lacks '$1'"; }
complains() { grep -Eq -- "$1" "$folder/err" || fail "stderr lacks '$1'"; }
quiet_stdout() { [[ ! -s $folder/out ]] || fail "stdout is not empty"; }
quiet_stderr() { [[ ! -s $folder/err ]] || fail "stderr is not empty"; }

# Usage.
expect 0 --help
shows 'Exit status'
expect 0 --version
shows '^run_ir [0-9]+\.[0-9]+\.[0-9]+$'
for command_name in run validate lint info check convert bench profile compare ops codes; do
  expect 0 "$command_name" --help
  shows 'Example'
  shows '--max-mem, --limit and --no-map'
done
for command_name in run bench profile compare check; do
  expect 0 "$command_name" --help
  shows '--threads, ?--nthreads INT:NUMBER *(=|\[+)0\]*( +\.\.\.)? *$'
done
for command_name in run bench profile compare; do
  expect 0 "$command_name" --help
  shows '--execution-mode MODE:\{performance,accuracy\} *[=[]performance'
  shows '--weights TEXT'
done
expect 2
expect 2 nonsense
complains "^'nonsense' is no command"
expect 2 run
expect 2 run "$models/small_cnn/model.xml" --no-such-option 1 -x
complains '^not expected: --no-such-option 1 -x; run_ir run --help lists the options$'
expect 2 bench "$models/small_cnn/model.xml" -t -1
complains "^--time: '-1' is no number above 0$"
expect 2 run "$models/small_cnn/model.xml" --threads x
complains "^--threads: 'x' is no whole number from 0 to 2147483647$"
for number in -1 1.5 '' 1e3 99999999999999999999; do
  expect 2 bench "$models/small_cnn/model.xml" -n "$number"
  complains "^--niter: '$number' is no whole number from 0 to 1000000000$"
  for command_name in run profile; do
    expect 2 "$command_name" "$models/small_cnn/model.xml" --top "$number"
    complains "^--top: '$number' is no whole number from 0 to 1000000000$"
    expect 2 "$command_name" "$models/small_cnn/model.xml" --repeat "$number"
    complains "^--repeat: '$number' is no whole number from 1 to 1000000000$"
  done
  for command_name in run bench profile compare; do
    expect 2 "$command_name" "$models/small_cnn/model.xml" --seed "$number"
    complains "^--seed: '$number' is no whole number from 0 to 18446744073709551615$"
    expect 2 "$command_name" "$models/small_cnn/model.xml" --threads "$number"
    complains "^--threads: '$number' is no whole number from 0 to 2147483647$"
  done
done
expect 0 run "$models/small_cnn/model.xml" --seed 18446744073709551615
expect 2 bench "$models/small_cnn/model.xml" -t inf
complains "^--time: 'inf' is not finite$"
expect 2 compare "$models/small_cnn/model.xml" --tolerance inf
complains "^--tolerance: 'inf' is not finite$"
for number in 0 1,0,1 -0 1e-50 1e50 nan inf x; do
  expect 2 run "$models/small_cnn/model.xml" --scale "$number"
  complains "^--scale: '[^']*' is no number of 32 bits other than 0$|is not finite$"
done
expect 2 run "$models/small_cnn/model.xml" --mean nan
expect 1 run "$models/small_cnn/model.xml" --mean 1 --scale 2 --layout NCHW --channels bgr
complains 'no input is a picture, which --layout, --channels, --mean, --scale would be for \[IR-input-options\]$'
expect 1 run "$models/small_cnn/model.xml" -i "$models/small_cnn/input0.bin" --mean 1
complains 'no input is a picture, which --mean would be for \[IR-input-options\]$'
expect 1 run --mean 1,2,3 --scale 2 "$models/small_cnn/model.xml"
complains 'no input is a picture, which --mean, --scale would be for'
expect 2 validate "$models/small_cnn/model.xml" --format xml
complains "^--format: 'xml' is none of text, json, sarif$"
model=$models/small_cnn/model.xml
for arguments in 'run $model -o' 'run $model --weights' 'lint $model --repair' 'bench $model --tune' \
  'profile $model --tuning' 'compare $model --weights' 'convert $model' 'run' 'validate' 'info' 'check' 'ops' 'codes'; do
  eval expect 2 "$arguments" "''"
  complains ': the name is empty$'
done
for arguments in 'profile $model --by layer' 'compare $model --optimize maybe' 'info $model --format sarif' \
  'run $model --layout XYZ' 'convert $model out.xml --ir-version 7'; do
  eval expect 2 "$arguments"
  complains "^--[a-z-]+: '[A-Za-z7]+' is none of [a-zA-Z0-9]+, [a-zA-Z0-9, ]+$"
done
expect 2 ops AvgPool --markdown
complains '^type excludes --markdown$'
expect 2 codes IR-file --markdown
complains '^code excludes --markdown$'
expect 1 check /dev/null
complains '^/dev/null: error: this is neither a file nor a folder \[IR-file\]$'
for command_name in run bench profile compare; do
  for mode in fast 1; do
    expect 2 "$command_name" "$models/small_cnn/model.xml" --execution-mode $mode
    complains "^--execution-mode: '$mode' is none of performance, accuracy$"
  done
done
expect 2 run "$models/small_cnn/model.xml" --extra-weights nan
complains "^--extra-weights: 'nan' is not finite$"
expect 2 run "$models/small_cnn/model.xml" --extra-weights x
complains "^--extra-weights: 'x' is no number of 64 bits$"
expect 0 run "$models/small_cnn/model.xml" --extra-weights -1
expect 1 run "$models/small_cnn/model.xml" --threads 100000
complains 'at most 1024 are possible \[IR-limit\]$'
expect 0 run "$models/small_cnn/model.xml" --threads 64
quiet_stderr
expect 1 run "$models/small_cnn/model.xml" -o /dev/null/x
complains '/dev/null/x cannot be made: .* \[IR-file\]$'
expect 1 check "$models/small_cnn" --limit max_input_bytes=100
shows 'the file has [0-9]+ bytes, the limit max_input_bytes is 100 \[IR-limit\]$'
expect 2 run "$models/small_cnn/model.xml" --layout XYZ
complains 'XYZ'

# standard output that cannot be written
unwritten() {
  [[ $status -eq $1 ]] || fail "exit status $status, expected $1"
  grep -q '^error: standard output cannot be written: ' "$folder/err" || fail 'nothing tells that stdout is full'
}
for arguments in "validate --format sarif" "run" "info" "bench -niter 1 --json" "profile --repeat 1 --format json"; do
  command="run_ir $arguments >/dev/full"
  "$run_ir" $arguments "$models/small_cnn/model.xml" >/dev/full 2>"$folder/err"
  status=$?
  unwritten 1
done
for arguments in "ops --markdown" "codes" "--help" "run --help" "--version"; do
  command="run_ir $arguments >/dev/full"
  "$run_ir" $arguments >/dev/full 2>"$folder/err"
  status=$?
  unwritten 1
done
command="run_ir info >&-"
"$run_ir" info "$models/small_cnn/model.xml" >&- 2>"$folder/err"
status=$?
unwritten 1
command="run_ir convert >&- <&-"
"$run_ir" convert "$models/small_cnn/model.xml" "$folder/closed.xml" >&- <&- 2>"$folder/err"
status=$?
unwritten 1
cmp -s "$folder/closed.xml" "$models/small_cnn/model.xml" || fail 'what is printed goes into the model'
command="run_ir validate -q >/dev/full"
"$run_ir" validate -q "$models/small_cnn/model.xml" >/dev/full || fail 'nothing printed is a failure'
command="run_ir ops | nobody"
mkfifo "$folder/pipe"
exec 3<>"$folder/pipe" 4>"$folder/pipe" 3>&-
(trap '' PIPE && "$run_ir" ops --markdown >&4 2>"$folder/err") || fail 'a reader that has gone is a failure'
exec 4>&-
quiet_stderr

# run
expect 0 run "$models/detection_head/model.xml" -i "$models/detection_head/input0.bin" -o "$folder/results"
quiet_stderr
shows '^detections f32 \[1,1,20,7\]$'
shows '^  4 detections$'
[[ -s $folder/results/detections.npy ]] || fail 'no .npy was written'
two_outputs() {
  echo '<net name="two" version="11"><layers>'
  echo '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1" element_type="f32"/>'
  echo '<output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>'
  for id in 1 2; do
    echo "<layer id=\"$id\" name=\"$1$id\" type=\"ReLU\" version=\"opset1\">"
    echo '<input><port id="0" precision="FP32"><dim>1</dim></port></input>'
    echo "<output><port id=\"1\" precision=\"FP32\" names=\"$1\"><dim>1</dim></port></output></layer>"
    echo "<layer id=\"1$id\" name=\"out$id\" type=\"Result\" version=\"opset1\">"
    echo '<input><port id="0" precision="FP32"><dim>1</dim></port></input></layer>'
  done
  echo '</layers><edges>'
  for id in 1 2; do
    echo "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"$id\" to-port=\"0\"/>"
    echo "<edge from-layer=\"$id\" from-port=\"1\" to-layer=\"1$id\" to-port=\"0\"/>"
  done
  echo '</edges></net>'
}
two_outputs "a/b$(printf 'n%.0s' {1..300})" >"$folder/two.xml"
expect 0 run "$folder/two.xml" -o "$folder/two"
[[ $(ls "$folder/two" | wc -l) -eq 2 ]] || fail 'two outputs of one long name are not two files'
expect 0 run "$models/small_cnn/model.xml" --top 3 --seed 7 --threads 1
cp "$folder/out" "$folder/first"
shows '^probabilities f32 \[1,10\]$'
expect 0 run "$models/small_cnn/model.xml" --top 3 --seed 7 --threads 2
cmp -s "$folder/out" "$folder/first" || fail 'another number of threads changes the output'
expect 1 run "$models/dynamic_shapes/model.xml"
quiet_stdout
complains "say which with --shape 'data\[\.\.\.\]'"
expect 0 run "$models/dynamic_shapes/model.xml" --shape 'data[3,7,6]'
shows '^mean f32 \[3,7,4\]$'
shows '^  3 7 2 3$'
expect 1 run "$models/dynamic_shapes/model.xml" --shape 'data[3,7,5]'
complains 'IR-input-shape'
expect 1 run "$models/absent.xml"
quiet_stdout
complains 'absent\.xml: error: the file does not exist \[IR-file\]'
expect 1 run "$models/small_cnn/model.xml" -i "image=$models/small_cnn/output0.bin"
complains 'the file has 40 bytes'

# run, with variables: a counter that starts with 0
cat >"$folder/counter.xml" <<'END'
<net name="counter" version="11"><layers>
<layer id="0" name="step" type="Parameter" version="opset1"><data element_type="i32" shape="1"/>
<output><port id="0" precision="I32"><dim>1</dim></port></output></layer>
<layer id="1" name="before" type="ReadValue" version="opset6">
<data variable_id="count" variable_type="i32" variable_shape="1"/>
<output><port id="0" precision="I32"><dim>1</dim></port></output></layer>
<layer id="2" name="after" type="Add" version="opset1">
<input><port id="0" precision="I32"><dim>1</dim></port><port id="1" precision="I32"><dim>1</dim></port></input>
<output><port id="2" precision="I32"><dim>1</dim></port></output></layer>
<layer id="3" name="kept" type="Assign" version="opset6"><data variable_id="count"/>
<input><port id="0" precision="I32"><dim>1</dim></port></input>
<output><port id="1" precision="I32"><dim>1</dim></port></output></layer>
<layer id="4" name="result" type="Result" version="opset1">
<input><port id="0" precision="I32"><dim>1</dim></port></input></layer>
</layers><edges>
<edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
<edge from-layer="2" from-port="2" to-layer="4" to-port="0"/>
</edges></net>
END
printf '\3\0\0\0' >"$folder/step.bin"
expect 0 run "$folder/counter.xml" -i "$folder/step.bin" --repeat 4
quiet_stderr
shows '^after i32 \[1\]$'
shows '^variable count i32 \[1\]$'
[[ $(grep -c '^  12$' "$folder/out") -eq 2 ]] || fail 'the fourth run does not give 12'
expect 2 run "$folder/counter.xml" --repeat 0
expect 0 bench "$folder/counter.xml" --niter 3 --json

# validate
expect 0 validate "$models"/*/model.xml
shows 'small_cnn/model\.xml: 0 errors, 0 warnings$'
expect 1 validate "$models/seed_examples/wrong_pads.xml"
shows 'wrong_pads\.xml:31:6: error: layer .padding_excluded. .*same_upper: ceil\(32 / 2\) = 16, declared 32'
shows 'wrong_pads\.xml: 4 errors, 0 warnings$'
shows '^    31 \| .*<dim>32</dim>$'
shows '^       \| .*\^$'
expect 2 validate "$models/small_cnn/model.xml" "$models/absent.xml"
shows 'small_cnn/model\.xml: 0 errors'

expect 0 validate -q "$models/small_cnn/model.xml"
quiet_stdout
sed 's/name="image"/name=""/' "$models/seed_examples/wrong_pads.xml" >"$folder/odd.xml"
sed -i 's/<dim>32/<dim>-1/' "$folder/odd.xml"
expect 0 validate "$folder/odd.xml"
shows 'odd\.xml: 0 errors, 1 warning$'
expect 1 validate --strict "$folder/odd.xml"
shows 'odd\.xml: 1 error, 0 warnings$'
expect 0 validate --notes "$folder/odd.xml"
shows 'note: .*\[IR-opset-release\]$'
expect 1 validate --format json "$models/seed_examples/wrong_pads.xml"
shows '^  "schema": "ir_runtime/diagnostics/1",$'
shows '^  "errors": 4,$'
expect 1 validate --format sarif "$models/seed_examples/wrong_pads.xml"
shows '^  "version": "2\.1\.0",$'
expect 2 validate --format xml "$models/small_cnn/model.xml"
expect 2 validate

# codes
expect 0 codes
shows 'IR-shape-mismatch'
expect 0 codes IR-cycle
shows 'Layers depend on their own outputs'
expect 1 codes IR-nonsense
complains "there is no code 'IR-nonsense'; run_ir codes lists them$"

# the weights of another folder
cp "$models/small_cnn/model.xml" "$folder/lonely.xml"
cp "$models/small_cnn/model.bin" "$folder/far.bin"
for command_name in run validate lint info 'bench -n 1' 'profile --repeat 1' compare; do
  expect 0 $command_name "$folder/lonely.xml" --weights "$folder/far.bin"
  if grep -Eq 'not read|unknown' "$folder/out"; then fail 'the weights are not read'; fi
done
expect 0 compare --weights "$folder/far.bin" "$folder/lonely.xml" "$folder/lonely.xml"
expect 0 compare "$folder/lonely.xml" "$models/small_cnn/model.xml" --weights "$folder/far.bin" \
  --weights "$models/small_cnn/model.bin"
expect 2 validate "$folder/lonely.xml" "$models/small_cnn/model.xml" --weights "$folder/far.bin"
complains '^--weights: one file for 2 models$'

# JSON is ASCII, whatever a path holds
odd="$folder/"$'odd\x7f\xc2\x9b\xff.xml'
cp "$folder/lonely.xml" "$odd"
for command_name in 'validate --format json' 'validate --format sarif' 'lint --format json' 'info --format json' \
  'profile --repeat 1 --format json' 'bench -n 1 --json'; do
  expect 0 $command_name "$odd" --weights "$folder/far.bin"
  shows '(odd\\u007f\\u009b\\ufffd|odd%7F%C2%9B%FF)\.xml|"results": \[\]'
  if LC_ALL=C grep -Eq '[^ -~]|\\x' "$folder/out"; then fail 'what is printed is no JSON'; fi
done

# lint
expect 2 lint "$models/absent.xml"
shows 'absent\.xml: 1 error, 0 warnings$'
expect 0 lint "$models/small_cnn/model.xml"
quiet_stderr
shows 'small_cnn/model\.xml: 0 errors, 0 warnings$'
cp "$models/small_cnn/model.xml" "$folder/waste.xml"
{ cat "$models/small_cnn/model.bin"; printf 'and more'; } >"$folder/waste.bin"
expect 0 lint "$folder/waste.xml" --repair "$folder/compact.xml"
shows 'waste\.bin: note: 8 of [0-9]+ bytes belong to no constant: [0-9]+ to [0-9]+ \[IR-weights-unused\]$'
shows 'compact\.xml: written, with [0-9]+ bytes of weights instead of [0-9]+$'
cmp -s "$folder/compact.bin" "$models/small_cnn/model.bin" || fail 'the copy has other weights'
expect 0 lint "$folder/compact.xml" --strict
shows ': 0 errors, 0 warnings$'
expect 1 lint "$folder/waste.xml" --repair "$folder/waste.xml"
complains 'the copy would replace the model itself'
for format in json sarif; do
  expect 0 lint "$folder/waste.xml" --format $format
  cp "$folder/out" "$folder/first"
  expect 0 lint "$folder/waste.xml" --format $format --repair "$folder/compact.xml"
  cmp -s "$folder/out" "$folder/first" || fail 'more than the report is on stdout'
  complains 'compact\.xml: written, with '
done
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 24888\n' >"$folder/waste.bin"
expect 1 lint "$folder/waste.xml" --repair "$folder/other.xml" --format json
shows '"IR-lfs-pointer"'
[[ ! -e $folder/other.xml ]] || fail 'a model with errors was written'

# limits
expect 1 run "$models/small_cnn/model.xml" --max-mem 1K
quiet_stdout
complains 'the model takes [0-9]+ bytes of memory: constants .*; the limit max_memory_bytes is 1024 \[IR-limit\]$'
expect 1 --limit max_layers=3 run "$models/small_cnn/model.xml"
complains 'more layers than the limit max_layers of 3 \[IR-limit\]$'
for command_name in validate lint info bench profile; do
  expect 1 "$command_name" "$models/small_cnn/model.xml" --limit max_layers=3
done
expect 1 convert "$models/small_cnn/model.xml" "$folder/unwritten.xml" --limit max_layers=3
expect 1 compare "$models/small_cnn/model.xml" "$models/small_cnn/model.xml" --limit max_layers=3
expect 1 check "$models/small_cnn" --limit max_layers=3
shows 'max_layers of 3'
expect 0 run "$models/small_cnn/model.xml" --limit max_layers=1K --limit max_edges=1M --max-mem 1G --no-map
expect 2 run "$models/small_cnn/model.xml" --limit max_layer=3
complains "'max_layer' is no limit; there are max_xml_bytes, "
expect 2 run "$models/small_cnn/model.xml" --max-mem much
complains "'much' is no number such as 1000 or 2G"

# names that a terminal would obey
printf '<net name="&#27;]0;owned&#7;" version="11"><layers><layer id="0" name="a&#27;[2J" type="Parameter" version="opset1"><data element_type="f32" shape="1"/><output><port id="0" precision="FP32"><dim>1</dim></port></output></layer><layer id="1" name="r" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim></port></input></layer></layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>' >"$folder/escapes.xml"
for command_name in run info validate lint profile bench; do
  expect 0 "$command_name" "$folder/escapes.xml"
  if grep -q $'[\x1b\x07]' "$folder/out" "$folder/err"; then fail 'control characters are printed'; fi
done

# info
expect 0 info "$models/small_cnn/model.xml"
shows "'small_cnn', IR version 11$"
shows '^  image +f32 +\[1,3,24,24\]$'
shows '^  Convolution +2$'
shows '^parameters +[0-9]+ '
shows '^FLOPs +[0-9.]+ G per inference$'
expect 0 info "$models/small_cnn/model.xml" --format json
[[ $(wc -l <"$folder/out") -eq 1 ]] || fail 'not one line of JSON'
shows '"inputs":\[\{"name":"image","names":\["image"\],"type":"f32","shape":\[1,3,24,24\]\}\]'
expect 0 info "$models/small_cnn/model.xml" --max-mem 1K
shows '^FLOPs +unknown, as the model cannot be compiled: the model takes [0-9]+ bytes of memory'
quiet_stderr
cp "$models/small_cnn/model.xml" "$folder/alone.xml"
expect 0 info "$folder/alone.xml"
shows 'unknown without the weights file'
expect 1 info "$models/seed_examples/wrong_pads.xml"
quiet_stdout
complains 'IR-shape-mismatch'

# check
expect 0 check "$models"
quiet_stderr
[[ $(tail -n 1 "$folder/out") == '5 passed, 0 failed' ]] || fail "the last line is '$(tail -n 1 "$folder/out")'"
expect 0 check -v "$models/small_cnn" --threads 1
shows '^ok   .*small_cnn$'
cp -r "$models/small_cnn" "$folder/broken"
printf 'x' >"$folder/broken/output0.bin"
expect 1 check "$folder/broken" "$models/avg_pool_net"
shows '^FAIL .*broken: .*the file has 1 bytes'
[[ $(tail -n 1 "$folder/out") == '1 passed, 1 failed' ]] || fail "the last line is '$(tail -n 1 "$folder/out")'"
sed 's/<output.*//' "$models/small_cnn/case.xml" >"$folder/broken/case.xml"
expect 1 check "$folder/broken"
shows '^FAIL .*broken: .*case\.xml:2:1: error: the case has no <output>: nothing would be compared \[IR-case\]'
expect 1 check "$folder/absent"
complains 'there is no such file or folder'
expect 0 check "$models" --round-trip
[[ $(tail -n 1 "$folder/out") == '5 passed, 0 failed' ]] || fail "the last line is '$(tail -n 1 "$folder/out")'"
mkdir "$folder/empty"
expect 1 check "$folder/empty"
shows '^0 passed, 0 failed$'
complains "^error: no case\.xml lies in $folder/empty$"

# convert
expect 0 convert "$models/small_cnn/model.xml" "$folder/converted.xml"
quiet_stderr
shows 'converted\.xml: IR version 11, [0-9]+ layers, 0\.[0-9] MB of constants$'
cmp -s "$folder/converted.xml" "$models/small_cnn/model.xml" || fail 'the shipped model changed'
expect 0 convert "$models/small_cnn/model.xml" "$folder/converted.xml" --ir-version 10
shows 'IR version 10'
expect 0 info "$folder/converted.xml"
shows "'small_cnn', IR version 10$"
expect 2 convert "$models/small_cnn/model.xml"
expect 2 convert "$models/small_cnn/model.xml" "$folder/converted.xml" --ir-version 7
expect 1 convert "$models/small_cnn/model.xml" "$folder/absent/converted.xml"
complains 'converted\.xml: error: the file cannot be written: No such file or directory \[IR-file\]'
expect 1 convert "$models/absent.xml" "$folder/converted.xml"
complains 'absent\.xml: error: the file does not exist'
mkfifo "$folder/fifo.xml"
expect 1 convert "$models/small_cnn/model.xml" "$folder/fifo.xml"
complains 'fifo\.xml: error: the file cannot be written: it is a FIFO; it must be a regular file \[IR-file\]'
expect 1 lint "$models/small_cnn/model.xml" --repair "$folder/fifo.xml"
complains 'it is a FIFO; it must be a regular file'
[[ -p $folder/fifo.xml && ! -e $folder/fifo.bin ]] || fail 'a FIFO was replaced'
cp "$models/small_cnn/model".{xml,bin} "$folder"
ln -s model.bin "$folder/shared.bin"
for name in shared.xml model.copy; do
  expect 1 convert "$folder/model.xml" "$folder/$name"
  complains "$name: error: its weights would replace those of .*model\.xml"
  expect 1 lint "$folder/model.xml" --repair "$folder/$name"
  complains 'its weights would replace'
done
expect 0 convert "$folder/model.xml" "$folder/model.xml"
ln -sf elsewhere.bin "$folder/shared.bin"
ln -s elsewhere.xml "$folder/shared.xml"
expect 0 convert "$folder/model.xml" "$folder/shared.xml"
[[ -L $folder/shared.xml && -L $folder/shared.bin && -s $folder/elsewhere.xml ]] || fail 'links were replaced'
cmp -s "$folder/elsewhere.bin" "$models/small_cnn/model.bin" || fail 'the weights are not where the link points'

# bench
expect 0 bench "$models/small_cnn/model.xml" -niter 3 -nthreads 1 --json
quiet_stderr
[[ $(wc -l <"$folder/out") -eq 1 ]] || fail 'not one line of JSON'
shows '^\{.*\}$'
for key in load_ms compile_ms first_ms min_ms mean_ms median_ms p90_ms p99_ms max_ms throughput; do
  shows "\"$key\":[0-9.e+-]+[,}]"
done
shows '"model":"[^"]*small_cnn/model\.xml"'
shows '"threads":1[,}]'
shows '"runs":3[,}]'
expect 0 bench "$models/small_cnn/model.xml" --niter 2 --nthreads 2
shows ': 2 runs on 2 threads$'
expect 0 bench "$models/small_cnn/model.xml" --niter 7 --nthreads 1 -nireq 3
shows ': 7 runs on 1 threads in 3 requests at once$'
expect 0 bench "$models/small_cnn/model.xml" -t 0.02 --nthreads 2 --nireq 3 --json
shows '"requests":3[,}]'
expect 2 bench "$models/small_cnn/model.xml" -nireq 0
complains "'0' is no whole number from 1 to 1024"
expect 0 bench "$models/small_cnn/model.xml" -t 0.05
shows '^  min [0-9.]+ ms, mean [0-9.]+ ms, median [0-9.]+ ms, p90 [0-9.]+ ms, p99 [0-9.]+ ms, max [0-9.]+ ms$'
shows '^  [0-9.]+ runs/s$'
expect 0 bench "$models/small_cnn/model.xml" -n 1 --format json
shows '^\{.*\}$'
expect 2 bench "$models/small_cnn/model.xml" --json --format text
expect 1 bench "$models/dynamic_shapes/model.xml" -niter 1
expect 0 bench "$models/dynamic_shapes/model.xml" -niter 1 --shape 'data[1,2,6]' -json
shows '^\{.*\}$'

# profile
expect 0 profile "$models/small_cnn/model.xml" --threads 1 --repeat 3
quiet_stderr
shows 'small_cnn/model\.xml: [0-9]+ steps take [0-9.]+ ms of [0-9.]+ ms, medians of 3 runs on 1 threads$'
shows '^step +ms +share +GFLOP/s +GB/s +threads +SIMD +kernel +algorithm +type +output +name$'
shows '^ +[0-9]+ +[0-9.]+ +[0-9.]+% +[0-9.]+ +[0-9.]+ +1 +[A-Z0-9]+ +convolution +[a-z_0-9]+(\+[a-z+]+)? '
shows '^steps +ms +share +GFLOP/s +GB/s +type +kernel$'
shows ' softmax$'
expect 0 profile "$models/small_cnn/model.xml" --repeat 1 --by op --format json
[[ $(wc -l <"$folder/out") -eq 1 ]] || fail 'not one line of JSON'
shows '^\{.*"types":\[.*\}$'
expect 0 profile "$models/small_cnn/model.xml" --repeat 1 --by op --sort order --top 1
[[ $(wc -l <"$folder/out") -le 5 ]] || fail 'more than one operation'
expect 0 profile "$models/small_cnn/model.xml" --repeat 1 --as-written --fastest --sort time --top 1
shows 'fastest of 1 runs'
shows '^steps '
expect 0 profile "$models/dynamic_shapes/model.xml" --repeat 2 --shape 'data[3,7,6]'
expect 2 profile "$models/small_cnn/model.xml" --repeat 0
expect 2 profile "$models/small_cnn/model.xml" --by layer

# --tune and --tuning
expect 0 run "$models/small_cnn/model.xml" --threads 1 --tune "$folder/choices"
grep -Eq '^[A-Z0-9]+ threads=1 separable .* = (strips|tile_strips|in_turn)$' "$folder/choices" || fail 'no choice was written'
for algorithm in strips in_turn; do
  sed -i -E "s/ = (strips|tile_strips|in_turn)$/ = $algorithm/" "$folder/choices"
  cp "$folder/choices" "$folder/kept"
  for option in --tune --tuning; do
    expect 0 profile "$models/small_cnn/model.xml" --threads 1 --repeat 1 $option "$folder/choices"
    shows "separable +$algorithm"
    cmp -s "$folder/choices" "$folder/kept" || fail "$option changes choices that it has"
  done
done
lines=$(wc -l <"$folder/choices")
expect 0 bench "$models/small_cnn/model.xml" -niter 1 --threads 2 --tuning "$folder/choices"
[[ $(wc -l <"$folder/choices") -eq $lines ]] || fail '--tuning measures'
expect 0 bench "$models/small_cnn/model.xml" -niter 1 --threads 2 --tune "$folder/choices"
[[ $(wc -l <"$folder/choices") -gt $lines ]] || fail '--tune does not measure what is missing'
expect 1 run "$models/small_cnn/model.xml" --tuning "$folder/absent"
complains 'the tuning file does not exist \[IR-file\]'
expect 1 run "$models/dynamic_shapes/model.xml" --tune "$folder/absent/choices"
complains 'absent/choices: error: the file cannot be written: No such file or directory \[IR-file\]'
echo nonsense >>"$folder/choices"
expect 1 run "$models/small_cnn/model.xml" --tune "$folder/choices"
complains "choices:[0-9]+:1: error: 'nonsense' is not of the form 'KEY = ALGORITHM' \[IR-tuning\]"
expect 2 run "$models/small_cnn/model.xml" --tune "$folder/a" --tuning "$folder/b"

# compare
expect 0 compare "$models/small_cnn/model.xml" --threads 1,2
quiet_stderr
shows '^probabilities f32 \[1,10\]$'
shows '^  identical, 10 elements$'
expect 0 compare --threads 1 --optimize on "$models/small_cnn/model.xml" "$models/small_cnn/model.xml"
expect 0 compare --nthreads 1,2 "$models/small_cnn/model.xml"
expect 0 compare "$models/small_cnn/model.xml" --optimize on,off --share-memory on,off --tolerance 1e-4
expect 0 compare "$models/small_cnn/model.xml" --execution-mode performance,accuracy --tolerance 1e-4
expect 2 compare "$models/small_cnn/model.xml" --execution-mode fast
expect 0 bench "$models/small_cnn/model.xml" -t 0.01 --execution-mode accuracy
expect 0 bench "$models/small_cnn/model.xml" -t 0.01 --dynamic-quantization 128
expect 0 compare "$models/small_cnn/model.xml" --dynamic-quantization 0,32
expect 2 run "$models/small_cnn/model.xml" --dynamic-quantization -1
complains "^--dynamic-quantization: '-1' is no whole number from 0 to 9223372036854775807$"
expect 0 compare "$models/small_cnn/model.xml" "$models/small_cnn/model.xml" --seed 3
expect 1 compare "$models/small_cnn/model.xml" "$models/avg_pool_net/model.xml"
complains "avg_pool_net/model\.xml: error: input 'image' takes shape \[1,3,21,18\], that of the first model has \[1,3,24,24\]"
expect 1 compare "$models/small_cnn/model.xml" "$models/seed_examples/model.xml"
complains 'seed_examples/model\.xml: error: the model has 2 inputs, the first one 1 \[IR-input-count\]$'
expect 1 compare "$folder/counter.xml" "$models/small_cnn/model.xml" --tolerance 1
expect 2 compare
expect 2 compare "$models/small_cnn/model.xml" --threads 1,2,3
complains '^--threads: At [Mm]ost 2 required but received 3$'
expect 2 compare "$models/small_cnn/model.xml" --optimize maybe

# ops
expect 0 ops
shows 'AvgPool'
expect 0 ops AvgPool
shows 'exclude-pad'
expect 1 ops Nonsense
complains "the operation 'Nonsense' is not known; run_ir ops lists those that are$"
expect 0 ops ShuffleChannels
shows '^ShuffleChannels \(opset1 and opset3 to opset17\)'
expect 0 ops Convolution
shows '^Convolution \(nGraph \(opset0\)\)'

if [[ $failures -gt 0 ]]; then
  echo "$failures failures"
  exit 1
fi
echo 'all as expected'
