//! Macros for what has one name in files, on the command line and in messages: values of enums, settings, and types that
//! are written as text.

/// Lets serde read and write a type as the text of its `FromStr` and its `Display`.
macro_rules! written_as_text {
    ($Type:ident) => {
        impl From<$Type> for String {
            fn from(value: $Type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $Type {
            type Error = crate::error::Error;
            fn try_from(text: String) -> crate::error::Result<Self> {
                text.parse()
            }
        }
    };
}

/// Defines an enum with a name for each variant.
///
/// Serde, clap's `ValueEnum` (feature `clap`), `Display` and `name` use the same names; `ALL` lists the values.
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        pub enum $Enum:ident {
            $($(#[$variant_meta:meta])* $Variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
        pub enum $Enum {
            $(
                $(#[$variant_meta])*
                #[serde(rename = $name)]
                #[cfg_attr(feature = "clap", value(name = $name))]
                $Variant,
            )+
        }

        impl $Enum {
            /// All values, in the order of their definition.
            pub const ALL: &[Self] = &[$(Self::$Variant),+];

            /// The name in files and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }

        impl ::std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// Defines the settings of a stage: a table of an experiment, and flags of a command (feature `clap`).
///
/// Behind the default of a setting stands what the help calls its `value`, a value of its `list`, or its `optional` value,
/// whose default no help names; a switch has nothing there.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $Settings:ident {
            $(
                $(#[$field_meta:meta])*
                pub $field:ident: $type:ty = $default:expr
                $(=> value $value:literal)? $(=> list $list:literal)? $(=> optional $optional:literal)?;
            )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[cfg_attr(feature = "clap", derive(clap::Args))]
        pub struct $Settings {
            $(
                #[cfg_attr(feature = "clap", arg(long))]
                $(#[cfg_attr(feature = "clap", arg(value_name = $value, default_value_t = $default))])?
                $(#[cfg_attr(feature = "clap", arg(value_name = $list, default_values_t = $default, value_delimiter = ','))])?
                $(#[cfg_attr(feature = "clap", arg(value_name = $optional))])?
                $(#[$field_meta])*
                pub $field: $type,
            )+
        }

        impl Default for $Settings {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}
