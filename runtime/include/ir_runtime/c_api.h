/* The library for C and for languages that call C: read a model, compile it, infer.
 *
 * Every function that can fail returns a status and, when it is not IR_STATUS_OK, leaves a sentence (for
 * models: all findings, one per line) in ir_last_error() of the calling thread, and NULL in place of the
 * handle that it would make. No exception leaves the library. Handles are freed with the function of their
 * name; NULL is allowed there. `options` NULL: the defaults. A request serves one thread at a time; models
 * and compiled models may be shared. Handlers of atexit may ask for the last error; for reading, compiling
 * and running it is too late then.
 *
 * Structs may get more members in a minor version (0.1 to 0.2); the shared library then has another SONAME,
 * so that no program meets one whose structs it does not know. Set options by their _init function, and
 * members that are new keep their defaults when the program is built again. */
#ifndef IR_RUNTIME_C_API_H_
#define IR_RUNTIME_C_API_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define IR_RUNTIME_C_API
#else
#define IR_RUNTIME_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ir_status {
  IR_STATUS_OK = 0,
  /* A null pointer, an index past the end, an unknown name or element type, a limit below 0; a tensor that
     does not suit its input, an input that was not given, an output that is asked for before ir_infer,
     a request that is running. */
  IR_STATUS_INVALID_ARGUMENT = 1,
  /* A file is missing, cannot be read or cannot be written; a tuning file is none, or a file is what Git LFS
     left in its place. */
  IR_STATUS_FILE = 2,
  /* The model, its weights or the data in an input is wrong. */
  IR_STATUS_INVALID_MODEL = 3,
  /* The model is right, but this library cannot run it. */
  IR_STATUS_UNSUPPORTED = 4,
  /* A limit of size, memory or iterations was reached, or memory ran out. */
  IR_STATUS_LIMIT = 5,
  /* A fault of the library. */
  IR_STATUS_INTERNAL = 6
} ir_status;

typedef struct ir_model ir_model;
typedef struct ir_compiled_model ir_compiled_model;
typedef struct ir_infer_request ir_infer_request;
typedef struct ir_tuning ir_tuning;

enum { IR_MAX_RANK = 64 };

/* An input or output. The name lives as long as what it was asked of. */
typedef struct ir_port {
  const char* name;
  /* As in IR attributes: "f32", "i64", "boolean". */
  const char* element_type;
  /* -1: not known before the data is. */
  int32_t rank;
  /* -1: any size. */
  int64_t dims[IR_MAX_RANK];
} ir_port;

/* Dense row-major elements, laid out as in IR constants, and aligned as such elements are in C. */
typedef struct ir_tensor {
  const char* element_type;
  int32_t rank;
  int64_t dims[IR_MAX_RANK];
  void* data;
  size_t byte_size;
} ir_tensor;

/* What the last failed call of this thread found; "" when none failed. Valid until the next call of this
 * thread, or until the thread ends (of the one that calls exit: before handlers of atexit run). When it is
 * asked for then, only the first 1,023 bytes are left. */
IR_RUNTIME_C_API const char* ir_last_error(void);
/* The stable code of its first error, "IR-shape-mismatch"; "" when there is none. Valid as above. */
IR_RUNTIME_C_API const char* ir_last_error_code(void);
/* "0.1.0" */
IR_RUNTIME_C_API const char* ir_version(void);

typedef enum ir_shape_check {
  IR_SHAPE_CHECK_ERROR = 0,
  IR_SHAPE_CHECK_WARN = 1,
  IR_SHAPE_CHECK_OFF = 2
} ir_shape_check;

/* How a model is read; read_model.h says what the members mean. ir_read_options_init sets all of them. */
typedef struct ir_read_options {
  /* One of ir_shape_check: what becomes of a declared dim or precision that inference contradicts. */
  int32_t shape_check;
  /* 0: read the weights file into memory, for files that others can write to. */
  int32_t map_weights;
  /* 1: constants have a shape and no elements, and the weights file is left alone; to look at a model that is
     not to be run. */
  int32_t without_weights;
  /* What is refused with IR_STATUS_LIMIT. */
  int64_t max_xml_bytes;
  int64_t max_xml_elements;
  int64_t max_attributes_per_element;
  int64_t max_layers;
  int64_t max_edges;
  int64_t max_ports_per_layer;
  int64_t max_rank;
  int64_t max_attribute_bytes;
  int64_t max_attribute_entries;
  int64_t max_body_depth;
  int64_t max_known_bytes;
  int64_t max_copied_bytes;
  int64_t max_diagnostics;
} ir_read_options;

IR_RUNTIME_C_API void ir_read_options_init(ir_read_options* options);
/* Reads IR version 10 or 11. `weights` may be NULL: `xml` with the extension .bin. */
IR_RUNTIME_C_API ir_status ir_read_model(const char* xml, const char* weights, ir_model** model);
IR_RUNTIME_C_API ir_status ir_read_model_with(const char* xml, const char* weights,
                                              const ir_read_options* options, ir_model** model);
/* `xml` and `weights` are what the files would hold; weights NULL with size 0: there is no such file. Weights
 * are not copied: they stay as they are until the model, and what was compiled from it, is freed. */
IR_RUNTIME_C_API ir_status ir_read_model_from_memory(const char* xml, size_t xml_size, const void* weights,
                                                     size_t weights_size, const ir_read_options* options,
                                                     ir_model** model);
IR_RUNTIME_C_API void ir_model_free(ir_model* model);
/* Inputs and outputs, in the order that they have in what is compiled from the model. */
IR_RUNTIME_C_API size_t ir_model_input_count(const ir_model* model);
IR_RUNTIME_C_API size_t ir_model_output_count(const ir_model* model);
IR_RUNTIME_C_API ir_status ir_model_input_port(const ir_model* model, size_t index, ir_port* port);
IR_RUNTIME_C_API ir_status ir_model_output_port(const ir_model* model, size_t index, ir_port* port);
/* Gives input `index` another shape (-1: any size) and infers all shapes again. When that fails, the model is
 * as it was. */
IR_RUNTIME_C_API ir_status ir_model_reshape(ir_model* model, size_t index, const int64_t* dims, int32_t rank);
/* The same for all `count` inputs at once, for models where dims of several must agree. Input i takes the
 * ranks[i] dims at dims[i]. */
IR_RUNTIME_C_API ir_status ir_model_reshape_all(ir_model* model, const int64_t* const* dims,
                                                const int32_t* ranks, size_t count);

/* Choices between algorithms that were measured on a machine, to be kept in a file. May be given to several
 * compilations, also at once. */
IR_RUNTIME_C_API ir_status ir_tuning_create(ir_tuning** tuning);
IR_RUNTIME_C_API ir_status ir_tuning_read(const char* file, ir_tuning** tuning);
/* Replaces the file when the new one is whole. */
IR_RUNTIME_C_API ir_status ir_tuning_write(const ir_tuning* tuning, const char* file);
/* What was compiled with it keeps it. */
IR_RUNTIME_C_API void ir_tuning_free(ir_tuning* tuning);

/* What algorithms may do for speed; compiled_model.h says more. */
typedef enum ir_execution_mode {
  IR_EXECUTION_MODE_PERFORMANCE = 0,
  IR_EXECUTION_MODE_ACCURACY = 1
} ir_execution_mode;

/* How a model is compiled; compiled_model.h says more. ir_compile_options_init sets all members. */
typedef struct ir_compile_options {
  /* Threads of the model's own pool; 0: as many as the process may use. */
  int32_t threads;
  /* 1: run in the oneTBB arena of the thread that calls ir_infer. */
  int32_t use_callers_arena;
  /* 0: every layer runs as written. */
  int32_t optimize;
  /* 0: each value has memory of its own. */
  int32_t share_memory;
  /* What is refused with IR_STATUS_LIMIT. max_memory_bytes 0: what the process may use. */
  int64_t max_activation_bytes;
  int64_t max_memory_bytes;
  int64_t max_folded_bytes;
  int64_t max_loop_iterations;
  /* How much more memory than constants and activations may be taken for speed, in parts of these; below 0:
     any. */
  double extra_weights;
  /* One of ir_execution_mode. */
  int32_t execution_mode;
  /* From 32 on: how many neighbouring elements of rows may share a scale where products with weights of 8 and
     4 bits quantise rows to 8 bits while they run. */
  int64_t dynamic_quantization_group_size;
  /* Choices to be taken; NULL: a cost model chooses. */
  ir_tuning* tuning;
  /* 1: measure what `tuning` does not know, and add it; for inputs of unknown shape at the first ir_infer. */
  int32_t tune;
} ir_compile_options;

IR_RUNTIME_C_API void ir_compile_options_init(ir_compile_options* options);
/* Plans the model for execution. `threads` 0: as many as the process may use. The model is not needed
 * afterwards. */
IR_RUNTIME_C_API ir_status ir_compile_model(const ir_model* model, int32_t threads,
                                            ir_compiled_model** compiled);
IR_RUNTIME_C_API ir_status ir_compile_model_with(const ir_model* model, const ir_compile_options* options,
                                                 ir_compiled_model** compiled);
IR_RUNTIME_C_API void ir_compiled_model_free(ir_compiled_model* compiled);
IR_RUNTIME_C_API size_t ir_input_count(const ir_compiled_model* compiled);
IR_RUNTIME_C_API size_t ir_output_count(const ir_compiled_model* compiled);
IR_RUNTIME_C_API ir_status ir_input_port(const ir_compiled_model* compiled, size_t index, ir_port* port);
IR_RUNTIME_C_API ir_status ir_output_port(const ir_compiled_model* compiled, size_t index, ir_port* port);
/* The index of the input, or of the first output, that has this name; one of several inputs is none. */
IR_RUNTIME_C_API ir_status ir_find_input(const ir_compiled_model* compiled, const char* name, size_t* index);
IR_RUNTIME_C_API ir_status ir_find_output(const ir_compiled_model* compiled, const char* name, size_t* index);

IR_RUNTIME_C_API ir_status ir_create_infer_request(const ir_compiled_model* compiled,
                                                   ir_infer_request** request);
IR_RUNTIME_C_API void ir_infer_request_free(ir_infer_request* request);
/* Gives input `index` its data. The memory is the caller's, is read by ir_infer and stays valid until another
 * tensor is given or the request is freed. Strings are not supported. */
IR_RUNTIME_C_API ir_status ir_set_input(ir_infer_request* request, size_t index, const ir_tensor* tensor);
/* The memory that input `index` reads, to be filled in place; only for inputs of static shape. */
IR_RUNTIME_C_API ir_status ir_input_tensor(ir_infer_request* request, size_t index, ir_tensor* tensor);
IR_RUNTIME_C_API ir_status ir_infer(ir_infer_request* request);
/* Infers on another thread and returns at once. Until it is done, functions of the request but the two that
 * wait fail with IR_STATUS_INVALID_ARGUMENT; ir_infer_request_free waits. */
IR_RUNTIME_C_API ir_status ir_start_async(ir_infer_request* request);
/* Waits until the inference that was started is done; what ir_infer would have returned. */
IR_RUNTIME_C_API ir_status ir_wait(ir_infer_request* request);
/* The same for so many milliseconds at most; *done: 0 while it runs, else 1. */
IR_RUNTIME_C_API ir_status ir_wait_for(ir_infer_request* request, int64_t milliseconds, int32_t* done);
/* Output `index` of the last ir_infer; valid until the next one or until the request is freed. */
IR_RUNTIME_C_API ir_status ir_output_tensor(ir_infer_request* request, size_t index, ir_tensor* tensor);

/* The variables of a stateful model, of which each request has its own. */
IR_RUNTIME_C_API size_t ir_variable_count(const ir_infer_request* request);
/* Its variable_id, and the shapes that it may take. */
IR_RUNTIME_C_API ir_status ir_variable_port(const ir_infer_request* request, size_t index, ir_port* port);
/* A copy of the value that the next ir_infer reads; valid until variable `index` is asked for again or the
 * request is freed. */
IR_RUNTIME_C_API ir_status ir_get_variable(ir_infer_request* request, size_t index, ir_tensor* tensor);
/* Gives the variable a copy of `tensor`. */
IR_RUNTIME_C_API ir_status ir_set_variable(ir_infer_request* request, size_t index, const ir_tensor* tensor);
/* Resets all variables. */
IR_RUNTIME_C_API ir_status ir_reset_state(ir_infer_request* request);

#ifdef __cplusplus
}
#endif

#endif /* IR_RUNTIME_C_API_H_ */
