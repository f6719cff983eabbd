/* clang-format off */
/* Typed functions for the objects of the model Odd.
 *
 * Written by `corestone model codegen`, anew each time: changes are lost.
 *
 * Call odd_bind once, before any other function; one C file of the program defines
 * ODD_IMPLEMENTATION before it includes this. A getter gives what cst_object_get lends, and zero when the value
 * is null or the call failed, which *error tells. What is inserted, a member at an index, a list of members and a
 * request are owned by the caller; a request is NULL when it could not be made.
 */
#ifndef ODD_MACHINE_H
#define ODD_MACHINE_H

#include <corestone.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Objects of one entity each: a cst_object * under another name. */
typedef struct odd_context odd_context;
typedef struct odd_item odd_item;
typedef struct odd_note odd_note;
typedef struct odd_tag odd_tag;

/* Finds what the functions call. The model is frozen, and must live as long as they are called. */
cst_status odd_bind(cst_model *model, cst_error **error);

/* Names of properties, and the user info of entities. */
#define ODD_CONTEXT_KEY_TEXT "text"
#define ODD_ITEM_KEY_CLASS "class"
#define ODD_ITEM_KEY_ID "id"
#define ODD_ITEM_KEY_RANK "rank"
#define ODD_ITEM_KEY_SCORE "score"
#define ODD_ITEM_KEY_PAYLOAD "payload"
#define ODD_ITEM_KEY_WORDS "words"
#define ODD_ITEM_KEY_PLACE "place"
#define ODD_ITEM_KEY_PLACE_X "place.x"
#define ODD_ITEM_KEY_PLACE_NAME "place.name"
#define ODD_ITEM_KEY_PLACE_INNER "place.inner"
#define ODD_ITEM_KEY_PLACE_INNER_COUNT "place.inner.count"
#define ODD_ITEM_USER_INFO_COLOR_OF "say \"red\""
#define ODD_NOTE_KEY_BYTES "bytes"
#define ODD_NOTE_KEY_DATETIME "datetime"
#define ODD_NOTE_KEY_PRICE "price"
#define ODD_NOTE_KEY_IMPORT "import"
#define ODD_NOTE_KEY_SIZE "size"
#define ODD_NOTE_KEY_DATA "data"
#define ODD_NOTE_KEY_CREATED "created"
#define ODD_NOTE_KEY_TAGS "tags"
#define ODD_NOTE_KEY_CONTEXT "context"
#define ODD_NOTE_KEY_FROM_ "from"
#define ODD_NOTE_KEY_TWINS "twins"
#define ODD_TAG_KEY_NAME "name"
#define ODD_TAG_KEY_NOTES "notes"

/* Of no concern to people: where odd_bind puts what it finds. */
enum {
    ODD_CONTEXT_ENTITY,
    ODD_ITEM_ENTITY,
    ODD_NOTE_ENTITY,
    ODD_TAG_ENTITY,
    ODD_ENTITIES
};
enum {
    ODD_CONTEXT_GET_TEXT,
    ODD_CONTEXT_SET_TEXT,
    ODD_ITEM_GET_CLASS,
    ODD_ITEM_SET_CLASS,
    ODD_ITEM_GET_ID,
    ODD_ITEM_SET_ID,
    ODD_ITEM_GET_RANK,
    ODD_ITEM_SET_RANK,
    ODD_ITEM_GET_SCORE,
    ODD_ITEM_SET_SCORE,
    ODD_ITEM_IS_NULL_SCORE,
    ODD_ITEM_SET_NULL_SCORE,
    ODD_ITEM_GET_PAYLOAD,
    ODD_ITEM_SET_PAYLOAD,
    ODD_ITEM_GET_WORDS,
    ODD_ITEM_SET_WORDS,
    ODD_ITEM_GET_PLACE_X,
    ODD_ITEM_SET_PLACE_X,
    ODD_ITEM_IS_NULL_PLACE_X,
    ODD_ITEM_SET_NULL_PLACE_X,
    ODD_ITEM_GET_PLACE_NAME,
    ODD_ITEM_SET_PLACE_NAME,
    ODD_ITEM_GET_PLACE_INNER_COUNT,
    ODD_ITEM_SET_PLACE_INNER_COUNT,
    ODD_NOTE_GET_BYTES,
    ODD_NOTE_SET_BYTES,
    ODD_NOTE_GET_DATETIME,
    ODD_NOTE_SET_DATETIME,
    ODD_NOTE_IS_NULL_DATETIME,
    ODD_NOTE_SET_NULL_DATETIME,
    ODD_NOTE_GET_PRICE,
    ODD_NOTE_SET_PRICE,
    ODD_NOTE_GET_IMPORT,
    ODD_NOTE_SET_IMPORT,
    ODD_NOTE_GET_SIZE,
    ODD_NOTE_SET_SIZE,
    ODD_NOTE_IS_NULL_SIZE,
    ODD_NOTE_SET_NULL_SIZE,
    ODD_NOTE_GET_DATA,
    ODD_NOTE_SET_DATA,
    ODD_NOTE_GET_CREATED,
    ODD_NOTE_SET_CREATED,
    ODD_NOTE_IS_NULL_CREATED,
    ODD_NOTE_SET_NULL_CREATED,
    ODD_NOTE_GET_TAGS,
    ODD_NOTE_SET_TAGS,
    ODD_NOTE_COUNT_TAGS,
    ODD_NOTE_CONTAINS_TAGS,
    ODD_NOTE_ADD_TAGS,
    ODD_NOTE_REMOVE_TAGS,
    ODD_NOTE_MEMBER_AT_TAGS,
    ODD_NOTE_INSERT_AT_TAGS,
    ODD_NOTE_REMOVE_AT_TAGS,
    ODD_NOTE_REPLACE_AT_TAGS,
    ODD_NOTE_MOVE_TAGS,
    ODD_NOTE_GET_CONTEXT,
    ODD_NOTE_SET_CONTEXT,
    ODD_NOTE_GET_FROM_,
    ODD_NOTE_SET_FROM_,
    ODD_NOTE_COUNT_FROM_,
    ODD_NOTE_CONTAINS_FROM_,
    ODD_NOTE_ADD_FROM_,
    ODD_NOTE_REMOVE_FROM_,
    ODD_TAG_GET_NAME,
    ODD_TAG_SET_NAME,
    ODD_TAG_GET_NOTES,
    ODD_TAG_SET_NOTES,
    ODD_TAG_COUNT_NOTES,
    ODD_TAG_CONTAINS_NOTES,
    ODD_TAG_ADD_NOTES,
    ODD_TAG_REMOVE_NOTES,
    ODD_ACCESSORS
};
enum {
    ODD_ITEM_KEY_OF_PAYLOAD,
    ODD_ITEM_KEY_OF_WORDS,
    ODD_KEYS
};
extern cst_key odd_keys[ODD_KEYS + 1];
extern cst_entity *odd_entities[ODD_ENTITIES + 1];
extern cst_function odd_accessors[ODD_ACCESSORS + 1];

/* ---- Context ---- */
static inline cst_object *odd_context_object(const odd_context *self) {
    return (cst_object *)self;
}
/* The object must be of the entity Context, or of one that inherits from it. */
static inline odd_context *odd_context_from(const cst_object *object) {
    return (odd_context *)object;
}
static inline odd_context *odd_context_insert(cst_context *context, cst_error **error) {
    cst_object *object = NULL;
    cst_context_insert(context, odd_entities[ODD_CONTEXT_ENTITY], &object, error);
    return odd_context_from(object);
}
static inline cst_fetch_request *odd_context_fetch_request(cst_error **error) {
    cst_fetch_request *request = NULL;
    cst_fetch_request_new(odd_entities[ODD_CONTEXT_ENTITY], &request, error);
    return request;
}
static inline cst_string odd_context_text(const odd_context *self, cst_error **error) {
    return ((cst_string (*)(const cst_object *, cst_error **))odd_accessors[ODD_CONTEXT_GET_TEXT])((const cst_object *)self, error);
}
static inline cst_status odd_context_set_text(odd_context *self, cst_string value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_string, cst_error **))odd_accessors[ODD_CONTEXT_SET_TEXT])((cst_object *)self, value, error);
}

/* ---- Item, which is abstract ---- */
static inline cst_object *odd_item_object(const odd_item *self) {
    return (cst_object *)self;
}
/* The object must be of the entity Item, or of one that inherits from it. */
static inline odd_item *odd_item_from(const cst_object *object) {
    return (odd_item *)object;
}
static inline cst_fetch_request *odd_item_fetch_request(cst_error **error) {
    cst_fetch_request *request = NULL;
    cst_fetch_request_new(odd_entities[ODD_ITEM_ENTITY], &request, error);
    return request;
}
static inline cst_string odd_item_class(const odd_item *self, cst_error **error) {
    return ((cst_string (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_CLASS])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_class(odd_item *self, cst_string value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_string, cst_error **))odd_accessors[ODD_ITEM_SET_CLASS])((cst_object *)self, value, error);
}
static inline cst_uuid odd_item_id(const odd_item *self, cst_error **error) {
    return ((cst_uuid (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_ID])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_id(odd_item *self, cst_uuid value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_uuid, cst_error **))odd_accessors[ODD_ITEM_SET_ID])((cst_object *)self, value, error);
}
static inline int32_t odd_item_rank(const odd_item *self, cst_error **error) {
    return ((int32_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_RANK])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_rank(odd_item *self, int32_t value, cst_error **error) {
    return ((cst_status (*)(cst_object *, int32_t, cst_error **))odd_accessors[ODD_ITEM_SET_RANK])((cst_object *)self, value, error);
}
static inline double odd_item_score(const odd_item *self, cst_error **error) {
    return ((double (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_SCORE])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_score(odd_item *self, double value, cst_error **error) {
    return ((cst_status (*)(cst_object *, double, cst_error **))odd_accessors[ODD_ITEM_SET_SCORE])((cst_object *)self, value, error);
}
static inline bool odd_item_score_is_null(const odd_item *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_IS_NULL_SCORE])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_score_null(odd_item *self, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_error **))odd_accessors[ODD_ITEM_SET_NULL_SCORE])((cst_object *)self, error);
}
static inline void *odd_item_payload(const odd_item *self, cst_error **error) {
    void *value = NULL;
    cst_object_get_transformed((const cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_PAYLOAD], &value, error);
    return value;
}
static inline cst_status odd_item_set_payload(odd_item *self, void *value, cst_error **error) {
    return cst_object_set_transformed((cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_PAYLOAD], value, error);
}
static inline cst_bytes odd_item_payload_bytes(const odd_item *self, cst_error **error) {
    return ((cst_bytes (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PAYLOAD])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_payload_bytes(odd_item *self, cst_bytes value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_bytes, cst_error **))odd_accessors[ODD_ITEM_SET_PAYLOAD])((cst_object *)self, value, error);
}
static inline void *odd_item_words(const odd_item *self, cst_error **error) {
    void *value = NULL;
    cst_object_get_transformed((const cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_WORDS], &value, error);
    return value;
}
static inline cst_status odd_item_set_words(odd_item *self, void *value, cst_error **error) {
    return cst_object_set_transformed((cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_WORDS], value, error);
}
static inline cst_bytes odd_item_words_bytes(const odd_item *self, cst_error **error) {
    return ((cst_bytes (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_WORDS])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_words_bytes(odd_item *self, cst_bytes value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_bytes, cst_error **))odd_accessors[ODD_ITEM_SET_WORDS])((cst_object *)self, value, error);
}
static inline double odd_item_place_x(const odd_item *self, cst_error **error) {
    return ((double (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PLACE_X])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_place_x(odd_item *self, double value, cst_error **error) {
    return ((cst_status (*)(cst_object *, double, cst_error **))odd_accessors[ODD_ITEM_SET_PLACE_X])((cst_object *)self, value, error);
}
static inline bool odd_item_place_x_is_null(const odd_item *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_IS_NULL_PLACE_X])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_place_x_null(odd_item *self, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_error **))odd_accessors[ODD_ITEM_SET_NULL_PLACE_X])((cst_object *)self, error);
}
static inline cst_string odd_item_place_name(const odd_item *self, cst_error **error) {
    return ((cst_string (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PLACE_NAME])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_place_name(odd_item *self, cst_string value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_string, cst_error **))odd_accessors[ODD_ITEM_SET_PLACE_NAME])((cst_object *)self, value, error);
}
static inline int32_t odd_item_place_inner_count(const odd_item *self, cst_error **error) {
    return ((int32_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PLACE_INNER_COUNT])((const cst_object *)self, error);
}
static inline cst_status odd_item_set_place_inner_count(odd_item *self, int32_t value, cst_error **error) {
    return ((cst_status (*)(cst_object *, int32_t, cst_error **))odd_accessors[ODD_ITEM_SET_PLACE_INNER_COUNT])((cst_object *)self, value, error);
}

/* ---- Note ---- */
static inline cst_object *odd_note_object(const odd_note *self) {
    return (cst_object *)self;
}
/* The object must be of the entity Note, or of one that inherits from it. */
static inline odd_note *odd_note_from(const cst_object *object) {
    return (odd_note *)object;
}
static inline odd_note *odd_note_insert(cst_context *context, cst_error **error) {
    cst_object *object = NULL;
    cst_context_insert(context, odd_entities[ODD_NOTE_ENTITY], &object, error);
    return odd_note_from(object);
}
static inline cst_fetch_request *odd_note_fetch_request(cst_error **error) {
    cst_fetch_request *request = NULL;
    cst_fetch_request_new(odd_entities[ODD_NOTE_ENTITY], &request, error);
    return request;
}
static inline cst_string odd_note_class(const odd_note *self, cst_error **error) {
    return ((cst_string (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_CLASS])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_class(odd_note *self, cst_string value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_string, cst_error **))odd_accessors[ODD_ITEM_SET_CLASS])((cst_object *)self, value, error);
}
static inline cst_uuid odd_note_id(const odd_note *self, cst_error **error) {
    return ((cst_uuid (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_ID])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_id(odd_note *self, cst_uuid value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_uuid, cst_error **))odd_accessors[ODD_ITEM_SET_ID])((cst_object *)self, value, error);
}
static inline int32_t odd_note_rank(const odd_note *self, cst_error **error) {
    return ((int32_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_RANK])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_rank(odd_note *self, int32_t value, cst_error **error) {
    return ((cst_status (*)(cst_object *, int32_t, cst_error **))odd_accessors[ODD_ITEM_SET_RANK])((cst_object *)self, value, error);
}
static inline double odd_note_score(const odd_note *self, cst_error **error) {
    return ((double (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_SCORE])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_score(odd_note *self, double value, cst_error **error) {
    return ((cst_status (*)(cst_object *, double, cst_error **))odd_accessors[ODD_ITEM_SET_SCORE])((cst_object *)self, value, error);
}
static inline bool odd_note_score_is_null(const odd_note *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_IS_NULL_SCORE])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_score_null(odd_note *self, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_error **))odd_accessors[ODD_ITEM_SET_NULL_SCORE])((cst_object *)self, error);
}
static inline void *odd_note_payload(const odd_note *self, cst_error **error) {
    void *value = NULL;
    cst_object_get_transformed((const cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_PAYLOAD], &value, error);
    return value;
}
static inline cst_status odd_note_set_payload(odd_note *self, void *value, cst_error **error) {
    return cst_object_set_transformed((cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_PAYLOAD], value, error);
}
static inline cst_bytes odd_note_payload_bytes(const odd_note *self, cst_error **error) {
    return ((cst_bytes (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PAYLOAD])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_payload_bytes(odd_note *self, cst_bytes value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_bytes, cst_error **))odd_accessors[ODD_ITEM_SET_PAYLOAD])((cst_object *)self, value, error);
}
static inline void *odd_note_words(const odd_note *self, cst_error **error) {
    void *value = NULL;
    cst_object_get_transformed((const cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_WORDS], &value, error);
    return value;
}
static inline cst_status odd_note_set_words(odd_note *self, void *value, cst_error **error) {
    return cst_object_set_transformed((cst_object *)self, odd_keys[ODD_ITEM_KEY_OF_WORDS], value, error);
}
static inline cst_bytes odd_note_words_bytes(const odd_note *self, cst_error **error) {
    return ((cst_bytes (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_WORDS])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_words_bytes(odd_note *self, cst_bytes value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_bytes, cst_error **))odd_accessors[ODD_ITEM_SET_WORDS])((cst_object *)self, value, error);
}
static inline double odd_note_place_x(const odd_note *self, cst_error **error) {
    return ((double (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PLACE_X])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_place_x(odd_note *self, double value, cst_error **error) {
    return ((cst_status (*)(cst_object *, double, cst_error **))odd_accessors[ODD_ITEM_SET_PLACE_X])((cst_object *)self, value, error);
}
static inline bool odd_note_place_x_is_null(const odd_note *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_IS_NULL_PLACE_X])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_place_x_null(odd_note *self, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_error **))odd_accessors[ODD_ITEM_SET_NULL_PLACE_X])((cst_object *)self, error);
}
static inline cst_string odd_note_place_name(const odd_note *self, cst_error **error) {
    return ((cst_string (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PLACE_NAME])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_place_name(odd_note *self, cst_string value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_string, cst_error **))odd_accessors[ODD_ITEM_SET_PLACE_NAME])((cst_object *)self, value, error);
}
static inline int32_t odd_note_place_inner_count(const odd_note *self, cst_error **error) {
    return ((int32_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_ITEM_GET_PLACE_INNER_COUNT])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_place_inner_count(odd_note *self, int32_t value, cst_error **error) {
    return ((cst_status (*)(cst_object *, int32_t, cst_error **))odd_accessors[ODD_ITEM_SET_PLACE_INNER_COUNT])((cst_object *)self, value, error);
}
static inline cst_bytes odd_note_bytes(const odd_note *self, cst_error **error) {
    return ((cst_bytes (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_BYTES])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_bytes(odd_note *self, cst_bytes value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_bytes, cst_error **))odd_accessors[ODD_NOTE_SET_BYTES])((cst_object *)self, value, error);
}
static inline double odd_note_datetime(const odd_note *self, cst_error **error) {
    return ((double (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_DATETIME])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_datetime(odd_note *self, double value, cst_error **error) {
    return ((cst_status (*)(cst_object *, double, cst_error **))odd_accessors[ODD_NOTE_SET_DATETIME])((cst_object *)self, value, error);
}
static inline bool odd_note_datetime_is_null(const odd_note *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_IS_NULL_DATETIME])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_datetime_null(odd_note *self, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_error **))odd_accessors[ODD_NOTE_SET_NULL_DATETIME])((cst_object *)self, error);
}
static inline cst_value odd_note_price(const odd_note *self, cst_error **error) {
    return ((cst_value (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_PRICE])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_price(odd_note *self, cst_value value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_value, cst_error **))odd_accessors[ODD_NOTE_SET_PRICE])((cst_object *)self, value, error);
}
static inline bool odd_note_import(const odd_note *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_IMPORT])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_import(odd_note *self, bool value, cst_error **error) {
    return ((cst_status (*)(cst_object *, bool, cst_error **))odd_accessors[ODD_NOTE_SET_IMPORT])((cst_object *)self, value, error);
}
static inline int64_t odd_note_size(const odd_note *self, cst_error **error) {
    return ((int64_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_SIZE])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_size(odd_note *self, int64_t value, cst_error **error) {
    return ((cst_status (*)(cst_object *, int64_t, cst_error **))odd_accessors[ODD_NOTE_SET_SIZE])((cst_object *)self, value, error);
}
static inline bool odd_note_size_is_null(const odd_note *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_IS_NULL_SIZE])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_size_null(odd_note *self, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_error **))odd_accessors[ODD_NOTE_SET_NULL_SIZE])((cst_object *)self, error);
}
static inline cst_bytes odd_note_data(const odd_note *self, cst_error **error) {
    return ((cst_bytes (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_DATA])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_data(odd_note *self, cst_bytes value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_bytes, cst_error **))odd_accessors[ODD_NOTE_SET_DATA])((cst_object *)self, value, error);
}
static inline double odd_note_created(const odd_note *self, cst_error **error) {
    return ((double (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_CREATED])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_created(odd_note *self, double value, cst_error **error) {
    return ((cst_status (*)(cst_object *, double, cst_error **))odd_accessors[ODD_NOTE_SET_CREATED])((cst_object *)self, value, error);
}
static inline bool odd_note_created_is_null(const odd_note *self, cst_error **error) {
    return ((bool (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_IS_NULL_CREATED])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_created_null(odd_note *self, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_error **))odd_accessors[ODD_NOTE_SET_NULL_CREATED])((cst_object *)self, error);
}
static inline cst_results *odd_note_tags(const odd_note *self, cst_error **error) {
    return ((cst_results *(*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_TAGS])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_tags(odd_note *self, size_t count, cst_object *const *members, cst_error **error) {
    return ((cst_status (*)(cst_object *, size_t, cst_object *const *, cst_error **))odd_accessors[ODD_NOTE_SET_TAGS])((cst_object *)self, count, members, error);
}
static inline size_t odd_note_tags_count(const odd_note *self, cst_error **error) {
    return ((size_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_COUNT_TAGS])((const cst_object *)self, error);
}
static inline bool odd_note_tags_contains(const odd_note *self, const odd_tag *member, cst_error **error) {
    return ((bool (*)(const cst_object *, const cst_object *, cst_error **))odd_accessors[ODD_NOTE_CONTAINS_TAGS])((const cst_object *)self, (const cst_object *)member, error);
}
static inline cst_status odd_note_add_to_tags(odd_note *self, odd_tag *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_object *, cst_error **))odd_accessors[ODD_NOTE_ADD_TAGS])((cst_object *)self, (cst_object *)member, error);
}
static inline cst_status odd_note_remove_from_tags(odd_note *self, odd_tag *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_object *, cst_error **))odd_accessors[ODD_NOTE_REMOVE_TAGS])((cst_object *)self, (cst_object *)member, error);
}
static inline odd_tag *odd_note_tags_at(const odd_note *self, size_t index, cst_error **error) {
    return (odd_tag *)((cst_object *(*)(const cst_object *, size_t, cst_error **))odd_accessors[ODD_NOTE_MEMBER_AT_TAGS])((const cst_object *)self, index, error);
}
static inline cst_status odd_note_insert_into_tags(odd_note *self, size_t index, odd_tag *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, size_t, cst_object *, cst_error **))odd_accessors[ODD_NOTE_INSERT_AT_TAGS])((cst_object *)self, index, (cst_object *)member, error);
}
static inline cst_status odd_note_remove_from_tags_at(odd_note *self, size_t index, cst_error **error) {
    return ((cst_status (*)(cst_object *, size_t, cst_error **))odd_accessors[ODD_NOTE_REMOVE_AT_TAGS])((cst_object *)self, index, error);
}
static inline cst_status odd_note_replace_in_tags(odd_note *self, size_t index, odd_tag *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, size_t, cst_object *, cst_error **))odd_accessors[ODD_NOTE_REPLACE_AT_TAGS])((cst_object *)self, index, (cst_object *)member, error);
}
static inline cst_status odd_note_move_in_tags(odd_note *self, size_t from, size_t to, cst_error **error) {
    return ((cst_status (*)(cst_object *, size_t, size_t, cst_error **))odd_accessors[ODD_NOTE_MOVE_TAGS])((cst_object *)self, from, to, error);
}
static inline odd_item *odd_note_context(const odd_note *self, cst_error **error) {
    return (odd_item *)((cst_object *(*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_CONTEXT])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_context(odd_note *self, odd_item *value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_object *, cst_error **))odd_accessors[ODD_NOTE_SET_CONTEXT])((cst_object *)self, (cst_object *)value, error);
}
static inline cst_results *odd_note_from_(const odd_note *self, cst_error **error) {
    return ((cst_results *(*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_GET_FROM_])((const cst_object *)self, error);
}
static inline cst_status odd_note_set_from_(odd_note *self, size_t count, cst_object *const *members, cst_error **error) {
    return ((cst_status (*)(cst_object *, size_t, cst_object *const *, cst_error **))odd_accessors[ODD_NOTE_SET_FROM_])((cst_object *)self, count, members, error);
}
static inline size_t odd_note_from__count(const odd_note *self, cst_error **error) {
    return ((size_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_NOTE_COUNT_FROM_])((const cst_object *)self, error);
}
static inline bool odd_note_from__contains(const odd_note *self, const cst_object *member, cst_error **error) {
    return ((bool (*)(const cst_object *, const cst_object *, cst_error **))odd_accessors[ODD_NOTE_CONTAINS_FROM_])((const cst_object *)self, (const cst_object *)member, error);
}
static inline cst_status odd_note_add_to_from_(odd_note *self, cst_object *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_object *, cst_error **))odd_accessors[ODD_NOTE_ADD_FROM_])((cst_object *)self, member, error);
}
static inline cst_status odd_note_remove_from_from_(odd_note *self, cst_object *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_object *, cst_error **))odd_accessors[ODD_NOTE_REMOVE_FROM_])((cst_object *)self, member, error);
}
/* What the fetched property twins finds: class == $FETCH_SOURCE.class AND SELF != $FETCH_SOURCE. Owned. */
static inline cst_results *odd_note_twins(odd_note *self, cst_error **error) {
    cst_results *found = NULL;
    cst_string name = {"twins", CST_NUL};
    cst_object_copy_fetched((cst_object *)self, name, &found, error);
    return found;
}
/* The model's fetch request NotesOfTag: ANY tags.name == $name AND class != "$no". */
static inline cst_fetch_request *odd_fetch_notes_of_tag(cst_value name_, cst_error **error) {
    cst_value arguments[1] = {{0}};
    arguments[0] = name_;
    cst_fetch_request *request = odd_note_fetch_request(error);
    cst_predicate *predicate = NULL;
    if (request != NULL && (cst_predicate_parse((cst_string){"ANY tags.name == %@ AND class != \"$no\"", CST_NUL}, 1, arguments, &predicate, error) < 0 ||
                            cst_fetch_request_set_predicate(request, predicate, error) < 0 ||
                            cst_fetch_request_set_limit(request, 3, error) < 0)) {
        cst_release(request);
        request = NULL;
    }
    if (predicate != NULL) cst_release(predicate);
    return request;
}

/* ---- Tag ---- */
static inline cst_object *odd_tag_object(const odd_tag *self) {
    return (cst_object *)self;
}
/* The object must be of the entity Tag, or of one that inherits from it. */
static inline odd_tag *odd_tag_from(const cst_object *object) {
    return (odd_tag *)object;
}
static inline odd_tag *odd_tag_insert(cst_context *context, cst_error **error) {
    cst_object *object = NULL;
    cst_context_insert(context, odd_entities[ODD_TAG_ENTITY], &object, error);
    return odd_tag_from(object);
}
static inline cst_fetch_request *odd_tag_fetch_request(cst_error **error) {
    cst_fetch_request *request = NULL;
    cst_fetch_request_new(odd_entities[ODD_TAG_ENTITY], &request, error);
    return request;
}
static inline cst_string odd_tag_name(const odd_tag *self, cst_error **error) {
    return ((cst_string (*)(const cst_object *, cst_error **))odd_accessors[ODD_TAG_GET_NAME])((const cst_object *)self, error);
}
static inline cst_status odd_tag_set_name(odd_tag *self, cst_string value, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_string, cst_error **))odd_accessors[ODD_TAG_SET_NAME])((cst_object *)self, value, error);
}
static inline cst_results *odd_tag_notes(const odd_tag *self, cst_error **error) {
    return ((cst_results *(*)(const cst_object *, cst_error **))odd_accessors[ODD_TAG_GET_NOTES])((const cst_object *)self, error);
}
static inline cst_status odd_tag_set_notes(odd_tag *self, size_t count, cst_object *const *members, cst_error **error) {
    return ((cst_status (*)(cst_object *, size_t, cst_object *const *, cst_error **))odd_accessors[ODD_TAG_SET_NOTES])((cst_object *)self, count, members, error);
}
static inline size_t odd_tag_notes_count(const odd_tag *self, cst_error **error) {
    return ((size_t (*)(const cst_object *, cst_error **))odd_accessors[ODD_TAG_COUNT_NOTES])((const cst_object *)self, error);
}
static inline bool odd_tag_notes_contains(const odd_tag *self, const odd_note *member, cst_error **error) {
    return ((bool (*)(const cst_object *, const cst_object *, cst_error **))odd_accessors[ODD_TAG_CONTAINS_NOTES])((const cst_object *)self, (const cst_object *)member, error);
}
static inline cst_status odd_tag_add_to_notes(odd_tag *self, odd_note *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_object *, cst_error **))odd_accessors[ODD_TAG_ADD_NOTES])((cst_object *)self, (cst_object *)member, error);
}
static inline cst_status odd_tag_remove_from_notes(odd_tag *self, odd_note *member, cst_error **error) {
    return ((cst_status (*)(cst_object *, cst_object *, cst_error **))odd_accessors[ODD_TAG_REMOVE_NOTES])((cst_object *)self, (cst_object *)member, error);
}
/* The model's fetch request allTags: every object. */
static inline cst_fetch_request *odd_fetch_all_tags(cst_error **error) {
    cst_fetch_request *request = odd_tag_fetch_request(error);
    return request;
}

#ifdef ODD_IMPLEMENTATION
cst_entity *odd_entities[ODD_ENTITIES + 1];
cst_function odd_accessors[ODD_ACCESSORS + 1];
cst_key odd_keys[ODD_KEYS + 1];

cst_status odd_bind(cst_model *model, cst_error **error) {
    static const char *const entities[] = {
        "Context",
        "Item",
        "Note",
        "Tag",
        NULL};
    static const struct {
        int entity;
        const char *property;
        uint32_t kind;
    } accessors[] = {
        {ODD_CONTEXT_ENTITY, "text", CST_ACCESSOR_GET},
        {ODD_CONTEXT_ENTITY, "text", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "class", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "class", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "id", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "id", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "rank", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "rank", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "score", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "score", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "score", CST_ACCESSOR_IS_NULL},
        {ODD_ITEM_ENTITY, "score", CST_ACCESSOR_SET_NULL},
        {ODD_ITEM_ENTITY, "payload", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "payload", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "words", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "words", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "place.x", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "place.x", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "place.x", CST_ACCESSOR_IS_NULL},
        {ODD_ITEM_ENTITY, "place.x", CST_ACCESSOR_SET_NULL},
        {ODD_ITEM_ENTITY, "place.name", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "place.name", CST_ACCESSOR_SET},
        {ODD_ITEM_ENTITY, "place.inner.count", CST_ACCESSOR_GET},
        {ODD_ITEM_ENTITY, "place.inner.count", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "bytes", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "bytes", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "datetime", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "datetime", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "datetime", CST_ACCESSOR_IS_NULL},
        {ODD_NOTE_ENTITY, "datetime", CST_ACCESSOR_SET_NULL},
        {ODD_NOTE_ENTITY, "price", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "price", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "import", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "import", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "size", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "size", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "size", CST_ACCESSOR_IS_NULL},
        {ODD_NOTE_ENTITY, "size", CST_ACCESSOR_SET_NULL},
        {ODD_NOTE_ENTITY, "data", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "data", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "created", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "created", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "created", CST_ACCESSOR_IS_NULL},
        {ODD_NOTE_ENTITY, "created", CST_ACCESSOR_SET_NULL},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_COUNT},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_CONTAINS},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_ADD},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_REMOVE},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_MEMBER_AT},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_INSERT_AT},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_REMOVE_AT},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_REPLACE_AT},
        {ODD_NOTE_ENTITY, "tags", CST_ACCESSOR_MOVE},
        {ODD_NOTE_ENTITY, "context", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "context", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "from", CST_ACCESSOR_GET},
        {ODD_NOTE_ENTITY, "from", CST_ACCESSOR_SET},
        {ODD_NOTE_ENTITY, "from", CST_ACCESSOR_COUNT},
        {ODD_NOTE_ENTITY, "from", CST_ACCESSOR_CONTAINS},
        {ODD_NOTE_ENTITY, "from", CST_ACCESSOR_ADD},
        {ODD_NOTE_ENTITY, "from", CST_ACCESSOR_REMOVE},
        {ODD_TAG_ENTITY, "name", CST_ACCESSOR_GET},
        {ODD_TAG_ENTITY, "name", CST_ACCESSOR_SET},
        {ODD_TAG_ENTITY, "notes", CST_ACCESSOR_GET},
        {ODD_TAG_ENTITY, "notes", CST_ACCESSOR_SET},
        {ODD_TAG_ENTITY, "notes", CST_ACCESSOR_COUNT},
        {ODD_TAG_ENTITY, "notes", CST_ACCESSOR_CONTAINS},
        {ODD_TAG_ENTITY, "notes", CST_ACCESSOR_ADD},
        {ODD_TAG_ENTITY, "notes", CST_ACCESSOR_REMOVE},
        {0, NULL, 0}}, keys[] = {
        {ODD_ITEM_ENTITY, "payload", 0},
        {ODD_ITEM_ENTITY, "words", 0},
        {0, NULL, 0}};
    cst_status status = cst_model_freeze(model, error);
    for (int at = 0; status == CST_OK && entities[at] != NULL; at++) {
        status = cst_model_entity(model, (cst_string){entities[at], CST_NUL}, &odd_entities[at], error);
    }
    for (int at = 0; status == CST_OK && accessors[at].property != NULL; at++) {
        status = cst_entity_accessor(odd_entities[accessors[at].entity],
                                     (cst_string){accessors[at].property, CST_NUL}, accessors[at].kind,
                                     &odd_accessors[at], error);
    }
    for (int at = 0; status == CST_OK && keys[at].property != NULL; at++) {
        status = cst_entity_key(odd_entities[keys[at].entity],
                                (cst_string){keys[at].property, CST_NUL}, &odd_keys[at], error);
    }
    return status;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
