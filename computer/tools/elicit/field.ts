/** A value to choose, and how it is shown. */
export interface FieldOption {
  readonly value: string;
  readonly label: string;
}

interface FieldBase {
  /** The key of the value. */
  readonly name: string;
  /** What people see: the title, or the name. */
  readonly label: string;
  readonly description?: string;
  readonly isRequired: boolean;
}

/** A field for text. */
export interface TextField extends FieldBase {
  readonly kind: "text";
  readonly minLength?: number;
  readonly maxLength?: number;
  /** `email`, `uri`, `date` or `date-time`; others are not checked. */
  readonly format?: string;
  /** Whether it must not be echoed. */
  readonly isSecret: boolean;
  readonly default?: string;
}

/** A field for a number. */
export interface NumberField extends FieldBase {
  readonly kind: "number";
  readonly isInteger: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

/** A field for yes or no. */
export interface BooleanField extends FieldBase {
  readonly kind: "boolean";
  readonly default?: boolean;
}

/** A field for one of several values. */
export interface ChoiceField extends FieldBase {
  readonly kind: "choice";
  readonly options: readonly FieldOption[];
  readonly default?: string;
}

/** A field for any of several values. */
export interface ChoicesField extends FieldBase {
  readonly kind: "choices";
  readonly options: readonly FieldOption[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: string[];
}

/** A field of a form. */
export type Field =
  | TextField
  | NumberField
  | BooleanField
  | ChoiceField
  | ChoicesField;
