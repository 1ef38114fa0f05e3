#include "ir_runtime/diagnostic_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ir {
namespace {

constexpr Severity kError = Severity::error;
constexpr Severity kWarning = Severity::warning;
constexpr Severity kNote = Severity::note;

constexpr std::array kFiles{
    DiagnosticCode{"IR-file", kError,
                   "A file is missing, is not a regular file, or cannot be read or written.",
                   "the file does not exist", "Check the path and its permissions."},
    DiagnosticCode{"IR-xml", kError, "The text is not well-formed XML.",
                   "not well-formed XML: Start-end tags mismatch",
                   "Mend the text at the place that is named."},
    DiagnosticCode{"IR-lfs-pointer", kError,
                   "A file is what Git LFS leaves in the place of one not yet fetched.",
                   "the weights file is a Git LFS pointer to 2150120 bytes, not the weights themselves",
                   "`git lfs pull` fetches it."},
    DiagnosticCode{"IR-encoding", kWarning, "The text is no UTF-8.", "byte 0xe9 is no UTF-8",
                   "Store the file as UTF-8; names that hold such bytes are shown with these spelt out."},
    DiagnosticCode{"IR-version", kError,
                   "The version of the IR is missing, malformed, or another one than 10 and 11.",
                   "IR version 7 is a format of before 2020", "Convert the model again from its source."},
    DiagnosticCode{"IR-structure", kError, "An element that the format needs is missing.",
                   "<net> has no <layers>", "See whether the file was cut off, or is no IR at all."},
    DiagnosticCode{
        "IR-element-unknown", kWarning, "An element has a name that the format does not know there.",
        "<layer> has an element <outputs>, which is not read", "Mend the name, or remove the element."},
    DiagnosticCode{"IR-element-repeated", kWarning,
                   "An element that counts once stands more than once; only the first is read.",
                   "a second <data> is not read", "Merge the elements, or remove one."},
    DiagnosticCode{"IR-attribute-duplicate", kWarning,
                   "An element has an attribute more than once, which XML forbids; the first counts.",
                   "the attribute 'type' stands twice", "Remove one of them."},
    DiagnosticCode{"IR-limit", kError, "The file asks for more than a limit allows.",
                   "more layers than the limit max_layers of 1000000",
                   "Raise the limit that is named when the model is meant to be this large."},
    DiagnosticCode{
        "IR-findings-left-out", kError,
        "More findings were made than the limit max_diagnostics lets through; the others are counted.",
        "1808 more errors were found and left out: the limit max_diagnostics is 1000",
        "Mend those that are shown first, or raise the limit."},
    DiagnosticCode{"IR-unsupported", kError, "Something that is valid is not supported.",
                   "no kernel for elements of type string", "See the hint of the finding."},
};

constexpr std::array kGraph{
    DiagnosticCode{"IR-id-duplicate", kError, "Two layers of one network have the same id.",
                   "the id 3 belongs to the layer of line 12 already", "Give each layer an id of its own."},
    DiagnosticCode{"IR-id-text", kWarning,
                   "An id is no number. Edges find it, but OpenVINO refuses the file.",
                   "the id 'a' is no number", "Number layers and ports."},
    DiagnosticCode{"IR-name-empty", kWarning, "A layer's name is empty.", "the layer's name is empty",
                   "Name the layer: inputs, outputs and reports go by names."},
    DiagnosticCode{"IR-name-duplicate", kWarning, "Two layers of one network have the same name.",
                   "the name belongs to the layer of line 12, too", "Give each layer a name of its own."},
    DiagnosticCode{"IR-port-duplicate", kError,
                   "Two input ports or two output ports of a layer have the same id.",
                   "two output ports have the id 1", "Give each port of a list an id of its own."},
    DiagnosticCode{"IR-edge", kError, "An edge has no ends, ends that do not exist, or an end that is taken.",
                   "the edge starts at layer 5, which does not exist", "Mend the ids of the edge's ends."},
    DiagnosticCode{"IR-edge-duplicate", kWarning, "An edge stands more than once.",
                   "the edge to input port 0 stands twice", "Remove one of them."},
    DiagnosticCode{"IR-input-unconnected", kError, "No edge ends at an input port.",
                   "no edge ends at input port 0", "Add the edge, or remove the port."},
    DiagnosticCode{
        "IR-cycle", kError, "Layers depend on their own outputs.",
        "the layer's inputs depend on its own outputs: n2 -> n3 -> n2; 2 layers lie on or behind the cycle",
        "Take out one of the edges that are named; loops are written as Loop or TensorIterator."},
    DiagnosticCode{"IR-preprocess", kError,
                   "<pre-process> asks for means that cannot be subtracted from the input that it names.",
                   "2 channels have means, 'data' has the shape [1,3,224,224], with 3",
                   "Give each channel of the input one mean, all as numbers or all as images."},
    DiagnosticCode{"IR-layer-unused", kWarning,
                   "A layer leads to no Result and assigns no variable, so that it is never computed.",
                   "nothing reads the layer's outputs", "Connect the layer, or remove it."},
    DiagnosticCode{"IR-no-result", kWarning, "The network has no Result, so that it computes nothing.",
                   "the network has no Result", "Add a Result behind each value that is wanted."},
    DiagnosticCode{
        "IR-port-map", kError,
        "A port map or back edge of Loop, TensorIterator or If names what does not exist, or leaves "
        "something out.",
        "the body parameter 3 is not mapped to any input",
        "Mend the port map; internal_layer_id is the id of a Parameter or Result of the body."},
    DiagnosticCode{"IR-variable-unread", kError, "A variable is assigned and never read.",
                   "the variable 'state' is assigned, but no ReadValue reads it",
                   "Add the ReadValue, or mend variable_id."},
    DiagnosticCode{"IR-variable-unassigned", kWarning, "A variable is read and never assigned.",
                   "the variable 'state' is read, but no Assign assigns it",
                   "Add the Assign, or mend variable_id."},
    DiagnosticCode{"IR-variable-twice", kWarning, "A network assigns a variable twice.",
                   "the variable 'state' is assigned twice; the last one counts", "Remove one Assign."},
    DiagnosticCode{"IR-variable-type", kError,
                   "A variable is read and assigned with different element types.",
                   "the variable 'state' is assigned as i32, layer 'read' reads it as f32",
                   "Convert the value before it is assigned."},
    DiagnosticCode{"IR-variable-shape", kError, "A variable is read and assigned with different shapes.",
                   "the variable 'state' is assigned with shape [2], layer 'read' reads it with shape [1]",
                   "Make variable_shape as wide as what is assigned."},
};

constexpr std::array kOperations{
    DiagnosticCode{"IR-operation-unknown", kError, "No opset has an operation of this type.",
                   "the operation 'Relux' is not known",
                   "Mend the type; operations of extensions cannot be loaded."},
    DiagnosticCode{"IR-opset-unknown", kError, "The layer's version is no opset that has the operation.",
                   "'Mish' does not exist in 'opset3'",
                   "Write a version that has it; the finding names them."},
    DiagnosticCode{"IR-opset-release", kNote, "The release of OpenVINO that the model needs, and why.",
                   "the model needs OpenVINO 2024.5 or later, for SearchSorted of opset15",
                   "Nothing, unless an older release is to read it."},
    DiagnosticCode{"IR-opset-downgrade", kNote,
                   "A layer could name an older opset, which older releases read, and mean the same.",
                   "TopK of opset11 with stable=\"false\" is TopK of opset3",
                   "Write the older version when older releases shall read the model."},
    DiagnosticCode{"IR-attribute-missing", kError, "An attribute that must be there is missing.",
                   "the attribute 'kernel' is missing", "Add it; `run_ir ops TYPE` lists the attributes."},
    DiagnosticCode{
        "IR-attribute-unknown", kError,
        "The operation has no attribute of this name: an error when the name is near to a real one, else "
        "a warning. A warning for other elements, when the name is near to a real one.",
        "AvgPool of opset1 has no attribute 'rounding_typ'", "Mend the name, or remove the attribute."},
    DiagnosticCode{
        "IR-attribute-value", kError, "An attribute is malformed, or is none of its values.",
        "attribute kernel is \"2,x\", which has entry 2, \"x\", that is not an integer; it takes integers of "
        "at least 1, separated by commas",
        "Write what the message says that it takes."},
    DiagnosticCode{"IR-attribute-range", kError, "An attribute is out of range, or contradicts another one.",
                   "num_splits is 0; it takes values of at least 1",
                   "Write what the message says that it takes."},
    DiagnosticCode{"IR-attribute-size", kError,
                   "A list has another number of entries than the operation needs.",
                   "strides has 1 values for 2 spatial axes", "Write one entry per axis."},
    DiagnosticCode{"IR-attribute-ignored", kNote, "An attribute has no effect beside another one.",
                   "pads_begin is \"1, 1\" and is not read: auto_pad is same_upper",
                   "Remove it, or mend the other one when this one was meant."},
    DiagnosticCode{"IR-spelling", kNote,
                   "A spelling that is read and that writers of today do not use: a warning where OpenVINO "
                   "refuses it.",
                   "the type is written 'relu'", "Write it as the finding says."},
    DiagnosticCode{"IR-unreadable", kError, "A layer could not be understood; the finding before says why.",
                   "the layer could not be read", "Mend the finding before this."},
};

constexpr std::array kShapes{
    DiagnosticCode{"IR-dim", kError, "A <dim> is no integer from -1 on.",
                   "<dim> holds 'x'; it takes one integer that is -1 (unknown) or more", "Write a number."},
    DiagnosticCode{"IR-precision", kError, "The precision of a port is no element type.",
                   "port 1 has the unknown precision 'FP31'",
                   "Write one of the element types, such as FP32."},
    DiagnosticCode{"IR-precision-missing", kWarning,
                   "An output port states no precision, which OpenVINO needs.",
                   "output port 1 states no precision", "Add the attribute 'precision'."},
    DiagnosticCode{"IR-precision-mismatch", kError,
                   "A declared precision contradicts what the layers compute. In version 10, where floating "
                   "precisions were hints, a warning.",
                   "output port 1 is declared I32, inference gives FP32", "Declare what inference gives."},
    DiagnosticCode{
        "IR-shape-mismatch", kError,
        "A declared dim or rank contradicts what the layers compute. At a Result and in bodies, where "
        "it has no use, a warning.",
        "dim 2 of output port 1 is declared 16, inference gives 15: floor((32 + 1 + 1 - 5) / 2) + 1 = 15, "
        "declared 16",
        "Declare what inference gives, or mend the attribute that the rule names."},
    DiagnosticCode{"IR-dim-sharper", kNote, "A dim that is declared unknown is known.",
                   "output port 1 is declared [?,8], inference gives [4,8]",
                   "Nothing: what inference gives is used."},
    DiagnosticCode{"IR-output-count", kError, "A layer declares more outputs than the operation has.",
                   "2 output ports are declared, ReLU gives 1", "Remove the port."},
    DiagnosticCode{"IR-output-undeclared", kNote, "A layer declares fewer outputs than the operation has.",
                   "1 output port is declared, TopK gives 2", "Nothing, unless the other output is wanted."},
    DiagnosticCode{"IR-input-count", kError, "The operation takes another number of inputs.",
                   "has 1 inputs, Add takes 2", "Connect as many inputs as it takes."},
    DiagnosticCode{"IR-element-type", kError, "The operation does not take an input of this type.",
                   "input 0 is of type f32, BitwiseNot takes an integer type", "Convert the input."},
    DiagnosticCode{"IR-rank", kError, "The operation does not take an input of this rank.",
                   "input 0 has shape [3] of rank 1, Convolution takes a rank from 3 to 5",
                   "Reshape the input, or mend the layer before it."},
    DiagnosticCode{"IR-axis", kError, "An axis lies outside of the input's rank.",
                   "axis 4 lies outside of [-4, 4) for rank 4", "Write an axis that the input has."},
    DiagnosticCode{
        "IR-shape", kError, "The shapes of the inputs do not fit together, or with the attributes.",
        "input 1 has 2 elements for 3 channels of input 0", "Mend the layer that makes the input."},
    DiagnosticCode{"IR-broadcast", kError, "Shapes do not broadcast to one another.",
                   "input 0 of shape [2,3] and the target [4] do not match",
                   "Make dims equal, or 1 where they shall spread."},
    DiagnosticCode{"IR-window", kError, "A window does not fit into the padded image.",
                   "the window of spatial axis 0 covers 5 elements (size 5, dilation 1), the padded image "
                   "has 3 (0 + 3 + 0)",
                   "Make the window smaller, or the pads larger."},
    DiagnosticCode{"IR-value", kError, "The elements of an input are wrong, as far as they are known.",
                   "step is 0", "Mend the constant that the input reads."},
    DiagnosticCode{
        "IR-needs-constant", kError, "The operation needs an input that is known before the model runs.",
        "the elements of input 1 are not known before the model runs", "Make the input a constant."},
};

constexpr std::array kNames{
    DiagnosticCode{"IR-tensor-name", kWarning, "The `names` of an output port hold an empty name.",
                   "the names of output port 0 hold an empty name",
                   "Names are separated by one comma; a comma in a name is written '\\,'."},
    DiagnosticCode{
        "IR-tensor-name-duplicate", kNote,
        "Two tensors of a network have the same name: a warning when both are inputs or both outputs of it. "
        "In version 10, where layers' names are names of these, too, also for an input and an output.",
        "the tensor name 'x' belongs to output port 0 of layer 'a', too",
        "Give each tensor a name of its own."},
    DiagnosticCode{"IR-rt-info", kWarning,
                   "An entry of <rt_info> is malformed, stands twice or does not fit the port.",
                   "the layout [N,C] has 2 dims, the port has 4", "Mend or remove the entry."},
};

constexpr std::array kConstants{
    DiagnosticCode{"IR-weights-missing", kError, "The model has constants and no weights file.",
                   "the model has constants and no weights file",
                   "Put the .bin beside the .xml, or name it."},
    DiagnosticCode{
        "IR-weights-unchecked", kNote, "A model with constants was validated without its weights file.",
        "model.bin was not read: what 12 constants hold is unknown, and dims that depend on it are taken "
        "as declared",
        "Put the .bin beside the .xml."},
    DiagnosticCode{"IR-const-size", kError, "The size of a constant does not fit its type and shape.",
                   "a constant of type f32 and shape [2] takes 8 bytes, size is 4",
                   "Mend shape, type or size."},
    DiagnosticCode{"IR-const-range", kError, "A constant lies beyond the end of the weights file.",
                   "the constant takes bytes 0 to 8 of model.bin, which has 3",
                   "See whether the weights file was cut off or belongs to another model."},
    DiagnosticCode{
        "IR-weights-short", kError,
        "Many constants lie beyond the end of the weights file; the first are named one by one.",
        "57 constants lie beyond the end of the file, 3 of them named above: they reach up to byte "
        "2150120, it has 1024",
        "See whether the weights file was cut off or belongs to another model."},
    DiagnosticCode{"IR-weights-unused", kNote,
                   "Bytes of the weights file belong to no constant: a warning when they are most of it.",
                   "4096 of 2150120 bytes belong to no constant: 1024 to 5120",
                   "`run_ir lint --repair` writes a copy without them."},
    DiagnosticCode{
        "IR-weights-unread", kWarning, "Constants overlap so much that their values were not looked at.",
        "the constants take more than 4 times the 1024 bytes of the file: they overlap, and their values "
        "were not looked at",
        "Mend offsets and sizes."},
    DiagnosticCode{"IR-const-overlap", kWarning, "A constant shares some of its bytes with another one.",
                   "bytes 4 to 8 also belong to layer 'a' of line 3, which takes bytes 0 to 8",
                   "See whether offset and size are right: constants share all of their bytes or none."},
    DiagnosticCode{
        "IR-const-duplicate", kNote, "The weights file holds the bytes of a constant more than once.",
        "the same 4096 bytes are stored again for 'b' (line 9): written once, they would save 4096 bytes",
        "`run_ir lint --repair` writes a copy with each once."},
    DiagnosticCode{
        "IR-const-nan", kWarning, "A constant holds NaN.", "2 of 64 elements are NaN, the first [0,3]",
        "See how the model was trained and converted: NaN spreads to all that is computed from it."},
    DiagnosticCode{"IR-const-infinite", kWarning,
                   "A constant holds infinity: a note when it holds zeros besides only, as masks do.",
                   "1 of 64 elements is infinite, the first [0,3]",
                   "See how the model was trained and converted."},
    DiagnosticCode{"IR-const-f16-overflow", kNote, "A constant holds numbers that f16 cannot.",
                   "1 of 64 elements is beyond 65504, the largest f16, the first [0,3] = 1e+06",
                   "Keep the model in f32 or bf16."},
    DiagnosticCode{"IR-const-denormal", kNote, "A constant holds denormal numbers.",
                   "1 of 64 elements is denormal, the first [0,3] = 1e-40",
                   "Nothing, or set them to 0: they make arithmetic slow on many CPUs."},
    DiagnosticCode{
        "IR-const-implausible", kWarning, "Most numbers of a constant are tiny, huge or none.",
        "812 of 4096 elements are NaN, infinite, at least 1e30 or below 1e-30",
        "See whether the weights file belongs to another model, or offset or element type are wrong."},
    DiagnosticCode{"IR-const-value", kError, "The bytes of a constant of strings are no strings.",
                   "string 1 goes from 5 to 3, and there are 8 characters",
                   "See whether the weights file belongs to another model."},
    DiagnosticCode{"IR-constant-missing", kError, "A constant that was read without weights is needed.",
                   "the elements of the constant were not read", "Read the model with its weights."},
};

constexpr std::array kRunning{
    DiagnosticCode{"IR-port-unknown", kError, "An input or output that is asked for does not exist.",
                   "input 2 does not exist, the model has 1", "`run_ir info` lists inputs and outputs."},
    DiagnosticCode{"IR-port-ambiguous", kError, "A name that an input is asked for by belongs to several.",
                   "the name 'image' belongs to inputs 0 and 1", "Ask by another name, or by the index."},
    DiagnosticCode{"IR-input-missing", kError, "An input was not given.",
                   "input 'image' was not given a tensor", "Set a tensor for each input."},
    DiagnosticCode{"IR-input-type", kError, "The tensor for an input is of another element type.",
                   "input 'image' takes f32, the tensor holds u8", "Convert the tensor."},
    DiagnosticCode{"IR-input-shape", kError, "The tensor for an input is of another shape.",
                   "input 'image' takes shape [1,3,?,?], the tensor has [3,8,8]",
                   "Give a tensor of that shape."},
    DiagnosticCode{"IR-input-size", kError, "A file for an input is of another size.",
                   "the file has 40 bytes, input 'image' of f32 [1,3,2,2] takes 48",
                   "Give a file of that size."},
    DiagnosticCode{
        "IR-input-options", kError,
        "Options for inputs contradict each other, name no file, or there is nothing that they are for.",
        "no input is a picture, which --mean, --scale would be for", "Leave out what is not meant."},
    DiagnosticCode{"IR-output-missing", kError, "An output is asked for before the model ran.",
                   "output 'sum' has no data before infer", "Call infer first."},
    DiagnosticCode{"IR-request-busy", kError, "A request is used while it runs.", "the request is running",
                   "Wait for it, or use another request."},
    DiagnosticCode{"IR-tensor-type", kError, "The elements of a tensor are asked for as another type.",
                   "the tensor holds f32, not i64", "Ask for its type, or convert it."},
    DiagnosticCode{"IR-tensor-size", kError, "A tensor is too large, or there is no memory for it.",
                   "a tensor of type f32 and shape [4611686018427387904] has no size that can be stored",
                   "Make the shape smaller."},
    DiagnosticCode{"IR-memory", kError, "Memory ran out.", "memory ran out while the model was compiled",
                   "Give the process more memory, or set lower limits."},
    DiagnosticCode{"IR-needs-plan", kError, "A body was to run outside of a compiled model.",
                   "a body cannot run outside of a compiled model", "Compile the model."},
    DiagnosticCode{"IR-shape-text", kError, "A shape on the command line is malformed.",
                   "'x[1,' is no shape; write NAME[1,3,224,224]", "Write it as the message shows."},
    DiagnosticCode{"IR-npy", kError, "A file is no .npy that can be read.", "the header has no shape",
                   "Write it with numpy.save."},
    DiagnosticCode{"IR-image", kError, "A picture cannot be read, or not for this input.",
                   "the picture cannot be read: Image not of any known type, or corrupt",
                   "Give a picture, or a .npy."},
    DiagnosticCode{"IR-case", kError, "A case file of `run_ir check` is malformed.",
                   "the case has no <output>: nothing would be compared", "See models/ for cases."},
    DiagnosticCode{"IR-tuning", kError, "A line of a tuning file is malformed, or the file is none.",
                   "the line is cut off: no line break ends it",
                   "Remove the file, and `run_ir run --tune` writes it anew."},
    DiagnosticCode{"IR-argument", kError, "An argument of a call of the C interface is wrong.",
                   "ir_infer: a pointer is null", "See ir_runtime/c_api.h for what the function takes."},
    DiagnosticCode{"IR-internal", kError, "Something else than an error of this list went wrong.",
                   "std::out_of_range", "This is a mistake of the library: please report it."},
    DiagnosticCode{"IR-round-trip", kError, "A model that was written reads as another one.",
                   "IR version 11 reads as another model: layer 'sum' (Add): the name is 'sum' and 'add'",
                   "This is a mistake of the writer: please report it with the model."},
};

constexpr std::array kGroups{
    DiagnosticGroup{"Files and XML", kFiles},
    DiagnosticGroup{"Layers, edges, bodies and variables", kGraph},
    DiagnosticGroup{"Operations and attributes", kOperations},
    DiagnosticGroup{"Element types and shapes", kShapes},
    DiagnosticGroup{"Names and annotations", kNames},
    DiagnosticGroup{"Constants and weights", kConstants},
    DiagnosticGroup{"Running, and the command line", kRunning},
};

}  // namespace

std::span<const DiagnosticGroup> diagnostic_groups() { return kGroups; }

const DiagnosticCode* find_diagnostic_code(std::string_view code) {
  for (const DiagnosticGroup& group : kGroups) {
    const auto found = std::ranges::find(group.codes, code, &DiagnosticCode::code);
    if (found != group.codes.end()) return &*found;
  }
  return nullptr;
}

std::string diagnostic_codes_markdown() {
  std::string text;
  for (const DiagnosticGroup& group : kGroups) {
    text += fmt::format("{}### {}\n\n| code | severity | meaning | example | hint |\n|---|---|---|---|---|\n",
                        text.empty() ? "" : "\n", group.title);
    for (const DiagnosticCode& code : group.codes) {
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", code.code, name_of(code.severity), code.meaning,
                          code.example, code.hint);
    }
  }
  return text;
}

}  // namespace ir
